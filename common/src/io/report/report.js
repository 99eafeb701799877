// Fills the report from the data in the page. Names only ever become text.
"use strict";
(function () {
  function data(id) { return JSON.parse(document.getElementById(id).textContent); }
  function element(tag, attributes, text) {
    var made = document.createElement(tag);
    for (var name in attributes || {}) made.setAttribute(name, attributes[name]);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  var SVG = "http://www.w3.org/2000/svg";
  function shape(tag, attributes, text) {
    var made = document.createElementNS(SVG, tag);
    for (var name in attributes) made.setAttribute(name, attributes[name]);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  var report = data("report-data");
  var network = data("network-data");
  var viewer = null;
  if (network) viewer = rlbayesViewer(document.getElementById("network"), network);
  else document.getElementById("network").textContent = report.not_drawn;

  // The edges: sorted by a click on a heading, filtered by a name.
  var body = document.getElementById("edge-rows");
  var filter = document.getElementById("edge-filter");
  var more = document.getElementById("edge-more");
  var headings = Array.prototype.slice.call(document.querySelectorAll("#edges th"));
  var order = { column: 3, down: true };
  var MOST = 1000;
  function showEdges() {
    var wanted = filter.value.trim().toLowerCase();
    var rows = report.edges.filter(function (row) {
      return !wanted || row[0].toLowerCase().indexOf(wanted) >= 0 || row[2].toLowerCase().indexOf(wanted) >= 0;
    });
    rows.sort(function (a, b) {
      var x = a[order.column], y = b[order.column];
      var by = x < y ? -1 : x > y ? 1 : 0;
      return order.down ? -by : by;
    });
    while (body.firstChild) body.removeChild(body.firstChild);
    rows.slice(0, MOST).forEach(function (row) {
      var line = element("tr");
      headings.forEach(function (heading, at) {
        var cell = element("td", at >= 3 ? { "class": "number" } : {});
        if (viewer && (at === 0 || at === 2)) {
          var button = element("button", { type: "button", "class": "name" }, row[at]);
          button.addEventListener("click", function () {
            viewer.find(row[at]);
            document.getElementById("network").scrollIntoView({ block: "start" });
          });
          cell.appendChild(button);
        } else cell.textContent = at === 3 ? row[3].toFixed(3) : at === 4 ? row[4].toFixed(2) + (row[5] ? " required" : "") : row[at];
        line.appendChild(cell);
      });
      body.appendChild(line);
    });
    more.textContent = rows.length > MOST ? "… and " + (rows.length - MOST) + " more; the filter finds them" :
      rows.length + " of " + report.edges.length + " edges";
    if (report.more_edges) more.textContent += "; " + report.more_edges + " more are not in this report";
    headings.forEach(function (heading, at) {
      heading.setAttribute("aria-sort", at !== order.column ? "none" : order.down ? "descending" : "ascending");
    });
  }
  headings.forEach(function (heading, at) {
    heading.querySelector("button").addEventListener("click", function () {
      order = { column: at, down: order.column === at ? !order.down : at >= 3 };
      showEdges();
    });
  });
  filter.addEventListener("input", showEdges);
  showEdges();

  // The columns with their states as bars.
  var columns = document.getElementById("columns");
  var columnFilter = document.getElementById("column-filter");
  var MOST_COLUMNS = 60;
  function showColumns() {
    var wanted = columnFilter.value.trim().toLowerCase();
    var found = report.columns.filter(function (column) { return column.name.toLowerCase().indexOf(wanted) >= 0; });
    while (columns.firstChild) columns.removeChild(columns.firstChild);
    found.slice(0, MOST_COLUMNS).forEach(function (column) {
      var card = element("section", { "class": "card" });
      card.appendChild(element("h3", {}, column.name));
      column.states.forEach(function (state) {
        var share = report.rows ? state[1] / report.rows : 0;
        var line = element("div", { "class": "bar" });
        var bar = shape("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
        bar.appendChild(shape("rect", { width: "100", height: "10", "class": "back" }));
        bar.appendChild(shape("rect", { width: String(share * 100), height: "10", "class": "full" }));
        line.appendChild(element("span", { "class": "state", title: state[0] }, state[0]));
        line.appendChild(bar);
        line.appendChild(element("span", { "class": "number" }, String(state[1])));
        card.appendChild(line);
      });
      if (column.more) card.appendChild(element("p", { "class": "quiet" }, "… and " + column.more + " more states"));
      columns.appendChild(card);
    });
    document.getElementById("column-more").textContent = found.length > MOST_COLUMNS ?
      "… and " + (found.length - MOST_COLUMNS) + " more; the filter finds them" : "";
    if (report.more_columns) document.getElementById("column-more").textContent += " " + report.more_columns + " further columns are not in this report.";
  }
  columnFilter.addEventListener("input", showColumns);
  showColumns();

  // The curve: nats below the best, on a logarithmic scale.
  var place = document.getElementById("curve");
  if (report.curve.length > 1) {
    var drawCurve = function () {
      var width = Math.max(320, Math.min(1160, place.clientWidth || 800));
      while (place.firstChild) place.removeChild(place.firstChild);
      place.appendChild(rlbayesCurve(report.curve, report.seconds, width, report.searched));
    };
    window.addEventListener("resize", drawCurve);
    drawCurve();
  } else place.textContent = "The best network was found before the progress of the search was first noted, so there is no curve.";
})();
