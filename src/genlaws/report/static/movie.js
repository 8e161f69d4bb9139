(function () {
  "use strict";
  var film = JSON.parse(document.getElementById("film").textContent);
  var slider = document.getElementById("time"), button = document.getElementById("play");
  var picture = document.getElementById("picture"), names = document.getElementById("names");
  var dots = Array.prototype.slice.call(picture.querySelectorAll("circle"));
  var labels = Array.prototype.slice.call(picture.querySelectorAll("text"));
  var words = labels.map(function (label) { return label.textContent; });
  var timer = null, last = film.steps.length - 1;
  function word(id, values, place) {
    var cell = document.getElementById(id);
    if (cell) { cell.textContent = values[place] === null ? "none" : values[place].toFixed(3); }
  }
  function write(frame) {
    // Where names would cover one another, one stands for all of them with their number.
    var size = parseFloat(window.getComputedStyle(labels[0]).fontSize), written = [];
    labels.forEach(function (label, i) {
      var x = frame[2 * i], y = frame[2 * i + 1], left = x > film.turn, wide = size * (0.6 * words[i].length + 1.6);
      var near = written.filter(function (one) {
        return Math.abs(one.y - y) < size && Math.abs(one.x - x) < Math.max(one.wide, wide);
      })[0];
      label.style.display = near ? "none" : "";
      if (near) { near.more += 1; return; }
      label.setAttribute("x", x + (left ? -film.offset_x : film.offset_x));
      label.setAttribute("y", y - film.offset_y);
      label.setAttribute("text-anchor", left ? "end" : "start");
      written.push({ x: x, y: y, wide: wide, more: 0, label: label, word: words[i] });
    });
    written.forEach(function (one) { one.label.textContent = one.word + (one.more ? " +" + one.more : ""); });
  }
  function show(place) {
    var frame = film.places[place];
    dots.forEach(function (dot, i) {
      dot.setAttribute("cx", frame[2 * i]);
      dot.setAttribute("cy", frame[2 * i + 1]);
    });
    write(frame);
    slider.value = place;
    document.getElementById("step").textContent = film.steps[place].toLocaleString("en-GB");
    word("train", film.train, place);
    word("test", film.test, place);
    slider.setAttribute("aria-valuetext", "step " + film.steps[place]);
  }
  function stop() {
    if (timer !== null) { window.clearInterval(timer); timer = null; }
    button.textContent = "Play";
    button.setAttribute("aria-label", "Play the training");
  }
  function play() {
    if (Number(slider.value) >= last) { show(0); }
    button.textContent = "Pause";
    button.setAttribute("aria-label", "Pause the training");
    timer = window.setInterval(function () {
      if (Number(slider.value) >= last) { stop(); } else { show(Number(slider.value) + 1); }
    }, film.pause);
  }
  slider.addEventListener("input", function () { stop(); show(Number(slider.value)); });
  button.addEventListener("click", function () { if (timer === null) { play(); } else { stop(); } });
  names.addEventListener("change", function () { picture.classList.toggle("nameless", !names.checked); });
  window.addEventListener("resize", function () { write(film.places[Number(slider.value)]); });
  slider.disabled = button.disabled = last === 0;
  show(last);
}());
