// Shows a network: zoom, drag, search, and for a node its table and its Markov blanket.
//
// rlbayesViewer(container, data) fills the container and returns { update(data), find(name) }.
// Names are data from outside: they only ever become text or attributes, never markup. Nothing here
// needs inline styles or handlers, so that a strict content-security policy holds.
"use strict";

var rlbayesViewer = (function () {
  var SVG = "http://www.w3.org/2000/svg";
  var MOST_SUGGESTIONS = 12;
  var MOST_LISTED_EDGES = 5000;
  var made = 0;

  function element(tag, attributes, text) {
    var made = document.createElement(tag);
    for (var name in attributes || {}) made.setAttribute(name, attributes[name]);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function shape(tag, attributes, text) {
    var made = document.createElementNS(SVG, tag);
    for (var name in attributes || {}) made.setAttribute(name, attributes[name]);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function add(parent) {
    for (var at = 1; at < arguments.length; at++) parent.appendChild(arguments[at]);
    return parent;
  }

  function empty(parent) {
    while (parent.firstChild) parent.removeChild(parent.firstChild);
  }

  function count(number, word) {
    return number + " " + word + (number === 1 ? "" : "s");
  }

  function shown(number) {
    return Math.abs(number) >= 100 ? number.toFixed(0) : number.toFixed(2);
  }

  // What an edge says in words.
  function edgeText(data, edge) {
    var text = data.nodes[edge.from].name + (edge.directed ? " → " : " — ") + data.nodes[edge.to].name;
    if (typeof edge.worth === "number") text += ", worth " + shown(edge.worth) + " nats";
    if (typeof edge.support === "number") text += ", support " + edge.support.toFixed(2) + (edge.required ? " (required)" : "");
    return text;
  }

  // Parents, children and the other parents of children, as the network that is written has them, and
  // which of them are joined to the node by an edge that may point either way.
  function relatives(data, node) {
    var parents = [], children = [], others = [], free = [];
    data.edges.forEach(function (edge) {
      if (edge.to === node) parents.push(edge.from);
      if (edge.from === node) children.push(edge.to);
      if (!edge.directed && edge.to === node) free.push(edge.from);
      if (!edge.directed && edge.from === node) free.push(edge.to);
    });
    data.edges.forEach(function (edge) {
      var known = edge.from === node || parents.indexOf(edge.from) >= 0 ||
        children.indexOf(edge.from) >= 0 || others.indexOf(edge.from) >= 0;
      if (!known && children.indexOf(edge.to) >= 0) others.push(edge.from);
    });
    return { parents: parents, children: children, others: others, free: free };
  }

  return function (container, firstData) {
    var id = "rlbayes-viewer-" + (++made);
    var data = { width: 1, height: 1, nodes: [], edges: [] };
    var view = { x: 0, y: 0, width: 1, height: 1 };
    // Whether the whole network is shown: then it stays so when the network changes.
    var isFitted = true;
    var selected = -1;
    var reachable = -1;
    var described = null;
    var nodeShapes = [], edgeShapes = [];

    // The parts that stay.
    empty(container);
    container.classList.add("rlbayes-viewer");
    var bar = element("div", { "class": "rv-bar" });
    var search = element("input", {
      type: "text", role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list",
      "aria-controls": id + "-list", "aria-label": "Find a node", placeholder: "Find a node",
      autocomplete: "off", spellcheck: "false", "class": "rv-search"
    });
    var list = element("ul", { id: id + "-list", role: "listbox", "class": "rv-list", "aria-label": "Nodes found" });
    list.hidden = true;
    var searchBox = add(element("div", { "class": "rv-find" }), search, list);
    var buttons = element("div", { "class": "rv-buttons", role: "group", "aria-label": "Zoom" });
    [["+", "Zoom in", function () { zoom(1 / 1.35); }],
     ["−", "Zoom out", function () { zoom(1.35); }],
     ["Fit", "Show the whole network", fit]].forEach(function (entry) {
      var button = element("button", { type: "button", "aria-label": entry[1], title: entry[1] }, entry[0]);
      button.addEventListener("click", entry[2]);
      buttons.appendChild(button);
    });
    var size = element("span", { "class": "rv-size" });
    add(bar, searchBox, buttons, size);
    var picture = shape("svg", {
      "class": "rv-picture", role: "group", tabindex: "0",
      "aria-label": "Network. Arrow keys go from node to node, Enter opens one, plus and minus zoom, zero shows all, Shift with arrows moves."
    });
    var heads = shape("defs");
    ["plain", "lit"].forEach(function (kind) {
      heads.appendChild(add(shape("marker", {
        id: id + "-" + kind, viewBox: "0 0 10 10", refX: "9", refY: "5", markerWidth: "10",
        markerHeight: "10", markerUnits: "userSpaceOnUse", orient: "auto"
      }), shape("path", { d: "M0 1 L10 5 L0 9 z", "class": "rv-head-" + kind })));
    });
    var edgeLayer = shape("g", { "aria-hidden": "true" });
    var nodeLayer = shape("g");
    add(picture, heads, edgeLayer, nodeLayer);
    var details = element("section", { "class": "rv-details", "aria-live": "polite", "aria-label": "The chosen node" });
    var body = add(element("div", { "class": "rv-body" }), picture, details);
    var text = element("details", { "class": "rv-text" });
    var textTitle = element("summary");
    var textList = element("ul");
    add(text, textTitle, textList);
    add(container, bar, body, text);

    // Looking at a part of the picture.
    function apply() {
      picture.setAttribute("viewBox", [view.x, view.y, view.width, view.height].map(function (number) {
        return Math.round(number * 100) / 100;
      }).join(" "));
    }
    function ratioOfShape() {
      var box = picture.getBoundingClientRect();
      return box.height > 0 && box.width > 0 ? box.width / box.height : 1.5;
    }
    function fit() {
      var margin = 16, ratio = ratioOfShape();
      var width = data.width + 2 * margin, height = data.height + 2 * margin;
      // Small networks are not blown up.
      var least = Math.max(1, picture.getBoundingClientRect().width) / 1.4;
      var wide = Math.max(width, height * ratio, least);
      view = { x: data.width / 2 - wide / 2, y: data.height / 2 - wide / ratio / 2, width: wide, height: wide / ratio };
      isFitted = true;
      apply();
    }
    function zoom(factor, at) {
      var largest = 4 * Math.max(data.width, data.height, 400);
      var width = Math.min(Math.max(view.width * factor, 60), largest);
      factor = width / view.width;
      at = at || { x: view.x + view.width / 2, y: view.y + view.height / 2 };
      view = {
        x: at.x - (at.x - view.x) * factor, y: at.y - (at.y - view.y) * factor,
        width: width, height: view.height * factor
      };
      isFitted = false;
      apply();
    }
    function move(dx, dy) {
      view.x += dx; view.y += dy;
      isFitted = false;
      apply();
    }
    function show(node) {
      var place = data.nodes[node];
      var pixels = Math.max(1, picture.getBoundingClientRect().width);
      if (view.width > pixels * 1.25) {
        view.height *= pixels / view.width;
        view.width = pixels;
      }
      view.x = place.x + place.width / 2 - view.width / 2;
      view.y = place.y + place.height / 2 - view.height / 2;
      isFitted = false;
      apply();
    }
    function where(clientX, clientY) {
      var box = picture.getBoundingClientRect();
      var scale = view.width / Math.max(1, box.width);
      return { x: view.x + (clientX - box.left) * scale, y: view.y + (clientY - box.top) * scale };
    }

    picture.addEventListener("wheel", function (event) {
      event.preventDefault();
      var step = event.deltaMode === 1 ? event.deltaY * 24 : event.deltaY;
      zoom(Math.exp(Math.max(-300, Math.min(300, step)) * 0.0018), where(event.clientX, event.clientY));
    }, { passive: false });

    var fingers = new Map();
    var dragged = false;
    picture.addEventListener("pointerdown", function (event) {
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (fingers.size === 1) dragged = false;
    });
    picture.addEventListener("pointermove", function (event) {
      var before = fingers.get(event.pointerId);
      if (!before) return;
      var scale = view.width / Math.max(1, picture.getBoundingClientRect().width);
      var dx = event.clientX - before.x, dy = event.clientY - before.y;
      if (fingers.size === 1) {
        if (!dragged && Math.abs(dx) + Math.abs(dy) < 5) return;
        if (!dragged && picture.setPointerCapture) picture.setPointerCapture(event.pointerId);
        dragged = true;
        move(-dx * scale, -dy * scale);
      } else {
        var other = null;
        fingers.forEach(function (finger, key) { if (key !== event.pointerId) other = finger; });
        var was = Math.hypot(before.x - other.x, before.y - other.y);
        var is = Math.hypot(event.clientX - other.x, event.clientY - other.y);
        dragged = true;
        if (was > 0 && is > 0) zoom(was / is, where((event.clientX + other.x) / 2, (event.clientY + other.y) / 2));
      }
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    ["pointerup", "pointercancel"].forEach(function (kind) {
      picture.addEventListener(kind, function (event) { fingers.delete(event.pointerId); });
    });
    picture.addEventListener("click", function (event) {
      if (dragged) { dragged = false; return; }
      var target = event.target.closest ? event.target.closest(".rv-node") : null;
      if (target) select(Number(target.getAttribute("data-node")), false);
      else select(-1, false);
    });

    picture.addEventListener("keydown", function (event) {
      var arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      var arrow = arrows[event.key];
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (arrow && event.shiftKey) move(arrow[0] * view.width / 8, arrow[1] * view.height / 8);
      else if (arrow) focusNode(nearest(arrow));
      else if (event.key === "+" || event.key === "=") zoom(1 / 1.35);
      else if (event.key === "-") zoom(1.35);
      else if (event.key === "0") fit();
      else if (event.key === "/") search.focus();
      else if (event.key === "Escape") select(-1, false);
      else if (event.key === "Enter" || event.key === " ") {
        if (event.target.getAttribute("data-node") !== null) select(Number(event.target.getAttribute("data-node")), false);
        else if (reachable >= 0) focusNode(reachable);
      } else return;
      event.preventDefault();
    });

    // The nearest node in a direction; sideways distance counts more.
    function nearest(arrow) {
      if (reachable < 0) return data.nodes.length ? 0 : -1;
      var focused = document.activeElement && document.activeElement.getAttribute("data-node") !== null;
      if (!focused) return reachable;
      function middle(node) { return [node.x + node.width / 2, node.y + node.height / 2]; }
      var from = middle(data.nodes[reachable]);
      var best = reachable, least = Infinity;
      data.nodes.forEach(function (node, at) {
        var to = middle(node), dx = to[0] - from[0], dy = to[1] - from[1];
        var ahead = dx * arrow[0] + dy * arrow[1];
        var aside = Math.abs(dx * arrow[1]) + Math.abs(dy * arrow[0]);
        if (at !== reachable && ahead > 1 && ahead + 2 * aside < least) {
          least = ahead + 2 * aside;
          best = at;
        }
      });
      return best;
    }

    function focusNode(node) {
      if (node < 0) return;
      reach(node);
      var place = data.nodes[node];
      var inside = place.x > view.x && place.y > view.y && place.x + place.width < view.x + view.width &&
        place.y + place.height < view.y + view.height;
      if (!inside) show(node);
      nodeShapes[node].focus({ preventScroll: true });
    }

    // One node at a time can be reached by Tab.
    function reach(node) {
      if (nodeShapes[reachable]) nodeShapes[reachable].setAttribute("tabindex", "-1");
      reachable = node;
      if (nodeShapes[node]) nodeShapes[node].setAttribute("tabindex", "0");
    }

    // A chosen node.
    function select(node, bringIntoView) {
      selected = node;
      container.classList.toggle("rv-chosen", node >= 0);
      nodeShapes.concat(edgeShapes).forEach(function (shape) {
        shape.classList.remove("rv-lit", "rv-middle");
      });
      edgeShapes.forEach(function (shape, at) {
        if (data.edges[at].directed) shape.setAttribute("marker-end", "url(#" + id + "-plain)");
      });
      nodeShapes.forEach(function (shape) { shape.removeAttribute("aria-pressed"); });
      if (node < 0) {
        if (described !== "") {
          described = "";
          empty(details);
          details.appendChild(element("p", { "class": "rv-hint" }, "Choose a node to see its probabilities and its Markov blanket."));
        }
        return;
      }
      reach(node);
      var near = relatives(data, node);
      nodeShapes[node].classList.add("rv-middle");
      nodeShapes[node].setAttribute("aria-pressed", "true");
      near.parents.concat(near.children, near.others).forEach(function (other) {
        nodeShapes[other].classList.add("rv-lit");
      });
      data.edges.forEach(function (edge, at) {
        var lit = edge.to === node || edge.from === node ||
          (near.children.indexOf(edge.to) >= 0 && (near.others.indexOf(edge.from) >= 0));
        if (!lit) return;
        edgeShapes[at].classList.add("rv-lit");
        if (edge.directed) edgeShapes[at].setAttribute("marker-end", "url(#" + id + "-lit)");
      });
      var now = content(node, near);
      if (now !== described) {
        described = now;
        empty(details);
        describe(node, near);
        details.scrollTop = 0;
      }
      if (bringIntoView) show(node);
    }

    // What the panel says: it is made anew, and read out, only when that changes.
    function content(node, near) {
      var names = function (nodes) { return nodes.map(function (other) { return data.nodes[other].name; }); };
      var about = data.nodes[node];
      return JSON.stringify([about.name, about.states, about.table && about.table.rows, names(near.parents), names(near.children), names(near.others), names(near.free)]);
    }

    function describe(node, near) {
      var about = data.nodes[node];
      details.appendChild(element("h3", { "class": "rv-name" }, about.name));
      var facts = element("dl", { "class": "rv-blanket" });
      [["Parents", near.parents], ["Children", near.children], ["Other parents of its children", near.others]]
        .forEach(function (entry) {
          facts.appendChild(element("dt", {}, entry[0]));
          var names = element("dd");
          if (!entry[1].length) names.textContent = "none";
          entry[1].slice(0, 60).forEach(function (other) {
            var button = element("button", { type: "button", "class": "rv-link" }, data.nodes[other].name);
            button.addEventListener("click", function () { select(other, true); });
            var one = add(element("span", { "class": "rv-one" }), button);
            if (near.free.indexOf(other) >= 0) one.appendChild(element("small", {}, "— either way"));
            names.appendChild(one);
          });
          if (entry[1].length > 60) names.appendChild(element("span", {}, "and " + (entry[1].length - 60) + " more"));
          facts.appendChild(names);
        });
      details.appendChild(facts);
      if (about.table && about.states) details.appendChild(bars(about));
    }

    // The table of a node: bars, one block for each combination of the parents' states.
    function bars(about) {
      var all = element("div", { "class": "rv-table" });
      var parents = about.table.parents.map(function (parent) { return data.nodes[parent]; });
      all.appendChild(element("h4", {}, parents.length ? "Probabilities, given its parents" : "Probabilities"));
      about.table.rows.forEach(function (row, number) {
        var given = [], rest = number;
        for (var at = parents.length - 1; at >= 0; at--) {
          var arity = parents[at].arity || (parents[at].states || []).length || 1;
          var state = (parents[at].states || [])[rest % arity];
          given.unshift(parents[at].name + " = " + (state === undefined ? "state " + (rest % arity + 1) : state));
          rest = Math.floor(rest / arity);
        }
        var block = element("div", { "class": "rv-block", role: "group", "aria-label": given.join(", ") || about.name });
        given.forEach(function (line) { block.appendChild(element("p", { "class": "rv-given" }, line)); });
        row.forEach(function (probability, state) {
          var line = element("div", { "class": "rv-row" });
          var bar = shape("svg", { "class": "rv-meter", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
          add(bar, shape("rect", { "class": "rv-back", width: "100", height: "10" }),
            shape("rect", { "class": "rv-full", width: String(Math.max(0, Math.min(100, probability * 100))), height: "10" }));
          add(line, element("span", { "class": "rv-state", title: about.states[state] }, about.states[state]), bar,
            element("span", { "class": "rv-number" }, probability.toFixed(3)));
          block.appendChild(line);
        });
        if (about.arity > row.length) block.appendChild(element("p", { "class": "rv-more" }, "… and " + count(about.arity - row.length, "more state")));
        all.appendChild(block);
      });
      if (about.table.more > 0) {
        all.appendChild(element("p", { "class": "rv-more" }, "… and " + about.table.more + " more combinations of the parents’ states"));
      }
      return all;
    }

    // Search.
    var suggestions = [], current = -1;
    function suggest() {
      var wanted = search.value.trim().toLowerCase();
      suggestions = [];
      if (wanted) {
        var starts = [], holds = [];
        data.nodes.forEach(function (node, at) {
          var found = node.name.toLowerCase().indexOf(wanted);
          if (found === 0) starts.push(at);
          else if (found > 0) holds.push(at);
        });
        suggestions = starts.concat(holds);
      }
      empty(list);
      suggestions.slice(0, MOST_SUGGESTIONS).forEach(function (node, at) {
        var item = element("li", { role: "option", id: id + "-option-" + at, "aria-selected": "false" }, data.nodes[node].name);
        item.addEventListener("pointerdown", function (event) { event.preventDefault(); });
        item.addEventListener("click", function () { take(node); });
        list.appendChild(item);
      });
      if (wanted && !suggestions.length) list.appendChild(element("li", { "class": "rv-none" }, "no such node"));
      if (suggestions.length > MOST_SUGGESTIONS) {
        list.appendChild(element("li", { "class": "rv-none" }, "… and " + (suggestions.length - MOST_SUGGESTIONS) + " more"));
      }
      list.hidden = !wanted;
      search.setAttribute("aria-expanded", String(!list.hidden));
      point(suggestions.length ? 0 : -1);
    }
    function point(at) {
      current = at;
      Array.prototype.forEach.call(list.querySelectorAll("[role=option]"), function (item, number) {
        item.setAttribute("aria-selected", String(number === at));
      });
      if (at >= 0) search.setAttribute("aria-activedescendant", id + "-option-" + at);
      else search.removeAttribute("aria-activedescendant");
    }
    function close() {
      list.hidden = true;
      search.setAttribute("aria-expanded", "false");
      search.removeAttribute("aria-activedescendant");
    }
    function take(node) {
      search.value = data.nodes[node].name;
      close();
      select(node, true);
    }
    search.addEventListener("input", suggest);
    search.addEventListener("blur", close);
    search.addEventListener("keydown", function (event) {
      var most = Math.min(suggestions.length, MOST_SUGGESTIONS);
      if (event.key === "ArrowDown" && most) point((current + 1) % most);
      else if (event.key === "ArrowUp" && most) point((current + most - 1) % most);
      else if (event.key === "Enter" && current >= 0) take(suggestions[current]);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    });

    // Everything that depends on the data.
    function draw() {
      empty(edgeLayer);
      empty(nodeLayer);
      edgeShapes = data.edges.map(function (edge) {
        var line = shape("path", { d: edge.path, "class": "rv-edge" });
        if (edge.directed) line.setAttribute("marker-end", "url(#" + id + "-plain)");
        var hasSupport = typeof edge.support === "number";
        line.setAttribute("stroke-width", hasSupport ? (0.8 + 2.4 * edge.support).toFixed(2) : "1.4");
        if (hasSupport && edge.support < data.threshold) line.setAttribute("stroke-dasharray", "6 4");
        line.appendChild(shape("title", {}, edgeText(data, edge)));
        edgeLayer.appendChild(line);
        return line;
      });
      var parents = data.nodes.map(function () { return 0; }), children = parents.slice();
      data.edges.forEach(function (edge) { parents[edge.to]++; children[edge.from]++; });
      nodeShapes = data.nodes.map(function (node, at) {
        var group = shape("g", {
          "class": "rv-node", role: "button", tabindex: "-1", "data-node": String(at),
          "aria-label": node.name + ", " + count(parents[at], "parent") + ", " + (children[at] === 1 ? "1 child" : children[at] + " children")
        });
        add(group, shape("title", {}, node.name), shape("rect", {
          x: node.x, y: node.y, width: node.width, height: node.height, rx: "7"
        }));
        var lines = node.lines && node.lines.length ? node.lines : [node.name];
        lines.forEach(function (line, number) {
          var y = node.y + node.height / 2 + 5 + (number - (lines.length - 1) / 2) * 17;
          group.appendChild(shape("text", { x: node.x + node.width / 2, y: y, "text-anchor": "middle" }, line));
        });
        nodeLayer.appendChild(group);
        return group;
      });
      size.textContent = count(data.nodes.length, "node") + ", " + count(data.edges.length, "edge");
      textTitle.textContent = "The edges as text (" + data.edges.length + ")";
      empty(textList);
      data.edges.slice(0, MOST_LISTED_EDGES).forEach(function (edge) {
        textList.appendChild(element("li", {}, edgeText(data, edge)));
      });
      if (data.edges.length > MOST_LISTED_EDGES) {
        textList.appendChild(element("li", {}, "… and " + (data.edges.length - MOST_LISTED_EDGES) + " more"));
      }
    }

    function indexOf(name) {
      for (var at = 0; at < data.nodes.length; at++) if (data.nodes[at].name === name) return at;
      return -1;
    }

    // The node that stays where it is when the network changes: the chosen one, else the one nearest
    // to the middle of the picture.
    function anchor() {
      if (selected >= 0) return selected;
      var least = Infinity, nearest = -1;
      data.nodes.forEach(function (node, at) {
        var away = Math.hypot(node.x + node.width / 2 - view.x - view.width / 2, node.y + node.height / 2 - view.y - view.height / 2);
        if (away < least) { least = away; nearest = at; }
      });
      return nearest;
    }

    // Shows another network; who looks at a node, or has chosen or reached one, stays there.
    function update(next) {
      var nameOf = function (node) { return node >= 0 ? data.nodes[node].name : null; };
      var chosen = nameOf(selected), reached = nameOf(reachable);
      var hadFocus = nodeLayer.contains(document.activeElement);
      var fixed = isFitted ? -1 : anchor();
      var before = data.nodes[fixed];
      data = next;
      reachable = -1;
      draw();
      var now = before ? indexOf(before.name) : -1;
      if (now < 0) fit();
      else {
        view.x += data.nodes[now].x + data.nodes[now].width / 2 - before.x - before.width / 2;
        view.y += data.nodes[now].y + data.nodes[now].height / 2 - before.y - before.height / 2;
        apply();
      }
      select(chosen === null ? -1 : indexOf(chosen), false);
      var again = reached === null ? -1 : indexOf(reached);
      reach(again >= 0 ? again : data.nodes.length ? 0 : -1);
      if (hadFocus && nodeShapes[reachable]) nodeShapes[reachable].focus({ preventScroll: true });
    }

    function find(name) {
      var node = indexOf(name);
      if (node >= 0) select(node, true);
      return node >= 0;
    }

    if (typeof ResizeObserver === "function") {
      var before = 0;
      new ResizeObserver(function () {
        var box = picture.getBoundingClientRect();
        if (!box.width || !box.height) return;
        if (!before || isFitted) fit();
        else {
          // The same middle, the same scale.
          var middle = { x: view.x + view.width / 2, y: view.y + view.height / 2 };
          var width = view.width * box.width / before;
          view = { x: middle.x - width / 2, y: middle.y - width * box.height / box.width / 2, width: width, height: width * box.height / box.width };
          apply();
        }
        before = box.width;
      }).observe(picture);
    }
    update(firstData);
    return { update: update, find: find };
  };
})();
