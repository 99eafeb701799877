// Draws how far a search was below its best network over time, on a logarithmic scale.
//
// rlbayesCurve(points, end, width, endText) returns an SVG element: points are [seconds, score] of
// improvements, end is how long was searched in seconds, endText the same in words, width in pixels.
"use strict";

var rlbayesCurve = function (points, end, width, endText) {
  var SMALL = 1e-3;
  var height = 260, left = 52, right = 12, top = 10, floor = height - 28, zero = floor - 6, room = zero - 16 - top;
  function shape(tag, attributes, text) {
    var made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (var name in attributes) made.setAttribute(name, attributes[name]);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  var best = points[points.length - 1][1];
  var gaps = points.map(function (point) { return best - point[1]; });
  var seen = gaps.filter(function (gap) { return gap >= SMALL; });
  var low = seen.length ? Math.floor(Math.log10(Math.min.apply(null, seen))) : -1;
  var high = seen.length ? Math.max(low + 1, Math.ceil(Math.log10(Math.max.apply(null, seen)))) : 0;
  var last = Math.max(end, points[points.length - 1][0], 1e-9);
  function x(seconds) { return (left + (width - left - right) * seconds / last).toFixed(1); }
  function y(gap) { return gap < SMALL ? zero : top + room * (high - Math.log10(gap)) / (high - low); }
  var drawn = shape("svg", {
    "class": "rv-curve", viewBox: "0 0 " + width + " " + height, role: "img", "data-points": String(points.length),
    "aria-label": "Nats below the best over time: " + points.length + (points.length === 1 ? " improvement in " : " improvements in ") +
      endText + ", from " + Math.max(0, gaps[0]).toPrecision(3) + " to 0."
  });
  function line(at, label) {
    drawn.appendChild(shape("line", { "class": "rv-grid", x1: left, x2: width - right, y1: at, y2: at }));
    drawn.appendChild(shape("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, label));
  }
  for (var power = low; power <= high; power++) line(y(Math.pow(10, power)), power < 0 ? Math.pow(10, power).toFixed(-power) : String(Math.pow(10, power)));
  line(zero, "0");
  var path = "";
  points.forEach(function (point, at) {
    var down = y(gaps[at]).toFixed(1);
    path += at ? "H" + x(point[0]) + "V" + down : "M" + x(point[0]) + " " + down;
  });
  drawn.appendChild(shape("path", { "class": "rv-step", d: path + "H" + x(last) }));
  drawn.appendChild(shape("text", { x: left, y: height - 6 }, "0 s"));
  drawn.appendChild(shape("text", { x: width - right, y: height - 6, "text-anchor": "end" }, endText + " of searching"));
  return drawn;
};
