"use strict";
// The live page. It asks for events by fetch, since only that can send the token as a header; the
// token is in no address. All text from outside is set as text, never as markup.
(() => {
  const get = (id) => document.getElementById(id);
  const KEY = "rlbayes-token";
  const FORMATS = ["bif", "xml", "json", "svg", "png", "pdf", "dot", "graphml", "csv", "txt"];
  let status = null, points = [], search = null, process = null, lostAt = null, madeOf = null;
  let fetching = false, nextFetch = 0;

  const make = (name, text, attributes = {}) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const time = (s) => s < 60 ? `${s.toFixed(1)} s`
    : s < 3600 ? `${Math.floor(s / 60)} min ${String(Math.floor(s % 60)).padStart(2, "0")} s`
    : `${Math.floor(s / 3600)} h ${String(Math.floor(s / 60) % 60).padStart(2, "0")} min`;
  const count = (n) => n >= 1e9 ? `${(n / 1e9).toFixed(1)} G` : n >= 1e6 ? `${(n / 1e6).toFixed(1)} M`
    : n >= 1e4 ? `${Math.round(n / 1e3)} k` : String(Math.round(n));
  const counted = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
  const bytes = (n) => n >= 1e9 ? `${(n / 2 ** 30).toFixed(1)} GiB` : `${(n / 2 ** 20).toFixed(1)} MiB`;
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  const headers = () => {
    const token = sessionStorage.getItem(KEY);
    return token ? { authorization: `Bearer ${token}` } : {};
  };

  // Says something for a while; that the coordinator is away is said as long as it is.
  const tell = (text) => {
    get("away").textContent = text;
    if (text) setTimeout(() => { if (lostAt === null && get("away").textContent === text) get("away").textContent = ""; }, 8000);
  };

  // ---- the token
  const askToken = (refused) => new Promise((done) => {
    get("ask").hidden = false;
    get("refused").textContent = refused ? "This token was refused." : "";
    get("token").focus();
    get("ask").onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEY, get("token").value.trim());
      get("token").value = "";
      get("ask").hidden = true;
      done();
    };
  });

  // ---- events
  const listen = async () => {
    const ender = new AbortController();
    let timer = setTimeout(() => ender.abort(), 15000);
    try {
      const answer = await fetch("events", { headers: headers(), signal: ender.signal, cache: "no-store" });
      if (answer.status === 401) return "token";
      if (!answer.ok) { get("away").textContent = (await answer.text()).trim(); return "busy"; }
      const reader = answer.body.getReader(), decoder = new TextDecoder();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "again";
        clearTimeout(timer);
        timer = setTimeout(() => ender.abort(), 15000);
        text += decoder.decode(value, { stream: true });
        let end;
        while ((end = text.indexOf("\n\n")) >= 0) {
          const lines = text.slice(0, end).split("\n");
          text = text.slice(end + 2);
          const field = (name) => (lines.find((line) => line.startsWith(`${name}: `)) || "").slice(name.length + 2);
          take(field("event"), JSON.parse(field("data")));
        }
      }
    } catch (error) {
      return "lost";
    } finally {
      clearTimeout(timer);
    }
  };

  const take = (kind, data) => {
    if (kind === "curve") return takeCurve(data);
    if (search !== data.search_id) { search = data.search_id; points = []; madeOf = null; }
    if (lostAt !== null || (process !== null && process !== data.process)) {
      tell(process !== data.process ? "The coordinator was restarted; the page is live again." : "");
    }
    process = data.process;
    lostAt = null;
    status = data;
    showStatus();
    renewNetwork();
  };

  // A coordinator that restarts begins its curve with its best: what came before is kept here.
  const takeCurve = (fresh) => {
    if (!fresh.length) return;
    const [at, score] = fresh[0];
    points = points.filter(([s, v]) => s < at && v < score).concat(fresh);
    if (points.length > 4096) points = points.filter((_, i) => i % 2 === 0 || i === points.length - 1);
    showCurve();
  };

  const follow = async () => {
    if (document.body.dataset.token === "needed" && !sessionStorage.getItem(KEY)) await askToken(false);
    for (;;) {
      const how = await listen();
      if (how === "again") continue;
      if (how === "token") { sessionStorage.removeItem(KEY); await askToken(true); continue; }
      if (how === "lost" && lostAt === null) lostAt = Date.now();
      if (how === "lost" && status && status.state === "finished") {
        get("away").textContent = "The search is over, and the coordinator has ended.";
      }
      await pause(how === "busy" ? 5000 : 1000);
    }
  };

  setInterval(() => {
    if (lostAt !== null && !(status && status.state === "finished")) {
      get("state").textContent = "away";
      get("state").className = "state away";
      get("away").textContent = `The coordinator is away for ${Math.round((Date.now() - lostAt) / 1000)} s, trying again.`;
    }
  }, 1000);

  // ---- facts
  const fact = (name, value, more, share) => {
    const box = make("div"), shown = make("dd", value);
    if (more) shown.append(make("small", more));
    if (share !== undefined) shown.append(make("progress", undefined, { max: 1, value: share, "aria-label": "share of the time used" }));
    box.append(make("dt", name), shown);
    return box;
  };

  const showStatus = () => {
    get("shown").hidden = false;
    const state = status.state === "finished" ? "finished" : status.stopped_by ? "stopping" : status.state;
    get("state").textContent = status.stopped_by ? `${state} (${status.stopped_by})` : state;
    get("state").className = `state ${state}`;
    get("data").textContent = status.data;
    document.title = `${status.best_score === null ? state : status.best_score.toFixed(3)} – ${status.data} – RLBayes`;
    get("trouble").textContent = status.trouble ? `Trouble: the journal cannot be written: ${status.trouble}` : "";
    const left = [status.seconds_left === null ? null : time(status.seconds_left),
      status.evaluations_left === null ? null : `${count(status.evaluations_left)} local scores`,
      status.iterations_left === null ? null : `${count(status.iterations_left)} steps`].filter((l) => l !== null);
    const over = status.state === "finished";
    const total = status.elapsed_seconds + (status.seconds_left || 0);
    const facts = [
      fact("Best score", status.best_score === null ? "none yet" : status.best_score.toFixed(3),
        status.best_score === null ? "" : `found ${time(status.best_age_seconds)} ago${status.proven ? ", proven" : ""}`),
      fact("Time searched", time(status.elapsed_seconds), over ? "the search is over" : left.length ? `at most ${left.join(", ")} left` : "no limit",
        !over && status.seconds_left !== null && total > 0 ? status.elapsed_seconds / total : undefined),
      fact("Local scores", count(status.evaluations), `${count(status.evaluations_per_second)}/s, ${counted(status.chains, "chain")}`),
      fact("Elite pool", counted(status.pool_size, "network"), `diversity ${status.diversity.toFixed(3)}`),
      fact("Seeds", `${count(status.seeds.sent)} sent`, `${count(status.seeds.entered)} entered a table, ${count(status.seeds.made_current)} made current`),
    ];
    if (status.regions !== null) facts.push(fact("Regions", count(status.regions), "searched one by one, the rest of the network fixed"));
    if (status.round > 0) facts.push(fact("Round", String(status.round)));
    if (status.replicates) facts.push(fact("Support", `${status.replicates.done} of ${status.replicates.of} replicates`));
    if (status.refused_rows > 0) facts.push(fact("Refused", counted(status.refused_rows, "network")));
    get("facts").replaceChildren(...facts);
    get("about").textContent = `${status.variables} variables, ${status.rows} rows, score ${status.score_name}, search ${status.search}, seed ${status.seed}, id ${status.search_id}. RLBayes ${status.version}.`;
    showWorkers();
  };

  // ---- the curve
  const showCurve = () => {
    if (!points.length) return;
    const width = Math.max(320, Math.min(1160, get("curve").clientWidth || 800));
    const end = Math.max(status ? status.elapsed_seconds : 0, points[points.length - 1][0]);
    get("curve").replaceChildren(rlbayesCurve(points, end, width, time(end)));
  };
  window.addEventListener("resize", showCurve);

  // ---- tables
  // Shows rows by columns of name, key, number as text, and cell, and returns how many do not fit.
  const table = (element, columns, rows, order, again, most = Infinity) => {
    const head = make("tr");
    columns.forEach(([name, , of], number) => {
      const cell = make("th", undefined, { scope: "col" });
      const button = make("button", name, { type: "button" });
      button.onclick = () => { order.down = order.by === number ? !order.down : false; order.by = number; again(); element.querySelectorAll("th button")[number].focus(); };
      if (of) cell.className = "number";
      if (order.by === number) cell.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      cell.append(button);
      head.append(cell);
    });
    const [, key] = columns[order.by];
    rows.sort((a, b) => { const [p, q] = [key(a), key(b)]; return (p < q ? -1 : p > q ? 1 : 0) * (order.down ? -1 : 1); });
    // A heading stays while nothing about it changes: a click or a focus is not lost to the next event.
    const shown = JSON.stringify([columns.map(([name]) => name), order.by, order.down]);
    if (element.dataset.head !== shown) element.tHead.replaceChildren(head);
    element.dataset.head = shown;
    element.tBodies[0].replaceChildren(...rows.slice(0, most).map((row) => {
      const line = make("tr");
      columns.forEach(([, value, of, cell]) => {
        const shown = make("td", undefined, of ? { class: "number" } : {});
        shown.append(cell ? cell(row) : of ? of(row) : value(row));
        line.append(shown);
      });
      return line;
    }));
    return Math.max(0, rows.length - most);
  };

  const workerOrder = { by: 0, down: false };
  const columns = [
    ["number", (w) => w.id, (w) => String(w.id)], ["host", (w) => w.host],
    ["threads", (w) => w.threads, (w) => String(w.threads)], ["chains", (w) => w.chains, (w) => String(w.chains)],
    ["local scores/s", (w) => w.evaluations_per_second, (w) => count(w.evaluations_per_second)],
    ["memory", (w) => w.memory_bytes, (w) => bytes(w.memory_bytes)],
    ["heard", (w) => w.last_exchange_seconds, (w) => `${time(w.last_exchange_seconds)} ago`], ["version", (w) => w.version],
  ];
  const showWorkers = () => {
    const alive = status.workers.filter((w) => w.alive), gone = status.workers.filter((w) => !w.alive);
    const sortAgain = () => { document.activeElement.blur(); showWorkers(); };
    table(get("workers"), columns, alive, workerOrder, sortAgain);
    get("workers").caption.textContent = alive.length ? `${alive.length} taking part${status.workers_left_out ? `; ${status.workers_left_out} more are not shown` : ""}` : "Nobody takes part yet.";
    get("gone-fold").hidden = gone.length === 0;
    get("gone-fold").querySelector("summary").textContent = `${gone.length} gone`;
    table(get("gone"), columns, gone, workerOrder, sortAgain);
  };

  // ---- the network
  const MOST_EDGES = 1000;
  const edgeOrder = { by: 3, down: true };
  let edges = [], viewer = null;
  // A name leads to its node in the picture.
  const name = (end) => (edge) => {
    if (!viewer) return edge[end];
    const button = make("button", edge[end], { type: "button", title: "Show it in the network" });
    button.onclick = () => { if (viewer.find(edge[end])) get("network").scrollIntoView({ block: "start" }); };
    return button;
  };
  const showEdges = () => {
    const wanted = get("find").value.trim().toLowerCase();
    const rows = edges.filter((e) => !wanted || e.from.toLowerCase().includes(wanted) || e.to.toLowerCase().includes(wanted));
    const again = () => { document.activeElement.blur(); showEdges(); };
    const shown = [["from", (e) => e.from, null, name("from")], ["direction", (e) => e.mark], ["to", (e) => e.to, null, name("to")],
      ["worth in nats", (e) => e.worth, (e) => e.worth.toFixed(3)]];
    if (edges.some((e) => e.support !== undefined)) shown.push(["support", (e) => e.support ?? 0, (e) => (e.support ?? 0).toFixed(2)]);
    edgeOrder.by = Math.min(edgeOrder.by, shown.length - 1);
    const more = table(get("edges"), shown, rows, edgeOrder, again, MOST_EDGES);
    const all = counted(edges.length, "edge");
    get("edges").caption.textContent = (wanted ? `${rows.length} of ${all} touch a node like this` : `${all}; — may point either way`)
      + (more ? `; ${more} more are not listed, the filter finds them` : "");
  };
  get("find").oninput = showEdges;

  const ask = (name) => fetch(name, { headers: headers(), cache: "no-store" });

  // Shows a network in the viewer that reports have.
  const showNetwork = (network) => {
    const at = (node) => network.nodes[node].name;
    edges = network.edges.map((e) => ({ from: at(e.from), to: at(e.to), mark: e.directed ? "→" : "—", worth: e.worth, support: e.support }));
    get("not-drawn").textContent = "";
    if (viewer) viewer.update(network);
    else viewer = rlbayesViewer(get("network"), network);
  };

  // A network that is too large for a picture has its edges.
  const showList = (result, why) => {
    const key = (edge) => JSON.stringify(edge);
    const directed = new Set(result.cpdag.directed.map(key));
    edges = result.edges.map((edge, i) => ({ from: edge[0], to: edge[1], worth: result.edge_gains[i], mark: directed.has(key(edge)) ? "→" : "—" }));
    get("not-drawn").textContent = why;
  };

  const renewNetwork = async () => {
    const wanted = `${status.best_score} ${status.replicates ? status.replicates.done : 0}`;
    if (fetching || document.hidden || status.best_score === null || wanted === madeOf || Date.now() < nextFetch) return;
    fetching = true;
    const began = Date.now();
    try {
      const answer = await ask("network.json");
      if (answer.ok) {
        showNetwork(await answer.json());
      } else if (answer.status === 409) {
        const why = (await answer.text()).trim(), result = await ask("result.json");
        if (!result.ok) return;
        showList(await result.json(), why);
      } else {
        return;
      }
      showEdges();
      madeOf = wanted;
    } catch (error) {
      // The stream of events notices that the coordinator is away.
    } finally {
      fetching = false;
      nextFetch = Date.now() + Math.max(3000, 5 * (Date.now() - began));
    }
  };

  for (const format of FORMATS) {
    const link = make("a", format, { href: `result.${format}`, download: "" });
    link.onclick = async (event) => {
      event.preventDefault();
      let file;
      try {
        const answer = await ask(link.getAttribute("href"));
        if (!answer.ok) return tell(`${format}: ${(await answer.text()).trim()}`);
        file = await answer.blob();
      } catch (error) {
        return tell(`${format}: the coordinator does not answer`);
      }
      const address = URL.createObjectURL(file);
      const saved = make("a", undefined, { href: address, download: `${status ? status.data : "network"}.${format}` });
      saved.click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
    };
    get("downloads").append(" ", link);
  }
  follow();
})();
