"use strict";
// The night under the pointer, and zoom. All charts of a machine show the same nights.
(() => {
  const tip = document.getElementById("tip");
  document.querySelectorAll(".script").forEach((hint) => (hint.hidden = false));
  const element = (name, parent) =>
    parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
  const seconds = (s) => {
    const [factor, unit] = s >= 1 ? [1, "s"] : s >= 1e-3 ? [1e3, "ms"] : s >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
    return `${(s * factor).toPrecision(4)} ${unit}`;
  };
  const percent = (ratio) => `${ratio < 1 ? "" : "+"}${((ratio - 1) * 100).toFixed(1)} %`;
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  document.querySelectorAll(".machine").forEach((section) => {
    const told = JSON.parse(section.querySelector("script").textContent);
    const { first, last, width, margin } = told;
    const inside = width - 2 * margin;
    let [from, to] = [first, last]; // the nights in sight
    const middle = (night) => margin + (inside * (night - from + 0.5)) / (to - from + 1);
    const nightAt = (x) => clamp(from + Math.floor(((x - margin) / inside) * (to - from + 1)), from, to);

    const charts = Array.from(section.querySelectorAll(".trend"), (svg, number) => {
      const chart = { svg, ...told.charts[number], plot: svg.querySelector(".plot"), at: null };
      chart.height = svg.viewBox.baseVal.height;
      // How the page drew it: the labels are exact enough for a tenth of a percent, the dots are not.
      chart.texts = ["high", "low"].map((side) => svg.querySelector(`.${side}`));
      const box = (values, least) => {
        const [low, high] = [Math.min(...values), Math.max(...values)];
        const half = Math.max(least / 2, ((high - low) / 2) * 1.1);
        return [(low + high) / 2 + half, (low + high) / 2 - half];
      };
      chart.rangeOf = (times) => box(times, 0.04);
      [chart.high, chart.low] = chart.whole = chart.rangeOf(chart.times);
      chart.y = (ratio) =>
        margin + ((chart.height - 2 * margin) * (chart.high - ratio)) / (chart.high - chart.low);
      return chart;
    });

    const scaleAcross = () => {
      const kx = (last - first + 1) / (to - from + 1);
      return [kx, margin - kx * (margin + (inside * (from - first)) / (last - first + 1))];
    };
    const draw = (chart) => {
      const seen = chart.times.filter((_, i) => chart.nights[i] >= from && chart.nights[i] <= to);
      [chart.high, chart.low] = seen.length ? chart.rangeOf(seen) : chart.whole;
      const [top, bottom] = chart.whole;
      const ky = (top - bottom) / (chart.high - chart.low);
      const ty = margin - ky * margin - (ky * (chart.height - 2 * margin) * (top - chart.high)) / (top - bottom);
      const [kx, tx] = scaleAcross();
      chart.plot.setAttribute("transform", `matrix(${kx} 0 0 ${ky} ${tx} ${ty})`);
      [chart.high, chart.low].forEach((ratio, side) => (chart.texts[side].textContent = percent(ratio)));
    };
    const zoom = (a, b) => {
      [from, to] = [clamp(Math.min(a, b), first, last), clamp(Math.max(a, b), first, last)];
      hush();
      charts.forEach(draw);
      const [kx, tx] = scaleAcross();
      const health = section.querySelector(".strip");
      health.querySelector(".plot").setAttribute("transform", `matrix(${kx} 0 0 1 ${tx} 0)`);
      [["first", from], ["last", to]].forEach(([end, night]) => {
        const date = (told.nights[night] ?? "").split(",")[0];
        health.querySelector(`.${end}`).textContent = `night ${night}, ${date}`;
      });
    };

    const hush = () => {
      tip.hidden = true;
      section.querySelectorAll(".cursor, .brush").forEach((mark) => mark.remove());
    };
    const tell = (chart, index) => {
      hush();
      chart.at = index;
      const [night, ratio] = [chart.nights[index], chart.times[index]];
      const x = middle(night);
      element("path", chart.svg).setAttribute("class", "cursor");
      chart.svg.lastChild.setAttribute("d", `M${x} 0V${chart.height}M${x - 4} ${chart.y(ratio)}h8`);
      const note = chart.notes[night] ? `: ${chart.notes[night]}` : "";
      tip.textContent =
        `night ${night}, ${told.nights[night]}, ${seconds(ratio * chart.base)}, ${percent(ratio)}${note}`;
      tip.hidden = false;
      const place = chart.svg.getBoundingClientRect();
      const left = place.left + (x / width) * place.width + 10;
      tip.style.left = `${Math.max(8, Math.min(left, innerWidth - tip.offsetWidth - 8)) + scrollX}px`;
      tip.style.top = `${place.bottom + scrollY}px`;
    };
    const nearest = (chart, night) => {
      const seen = chart.nights.map((n, i) => [Math.abs(n - night), i]);
      const near = seen.filter(([, i]) => chart.nights[i] >= from && chart.nights[i] <= to);
      return near.length ? near.reduce((a, b) => (b[0] < a[0] ? b : a))[1] : null;
    };

    charts.forEach((chart) => {
      const xOf = (event) => {
        const place = chart.svg.getBoundingClientRect();
        return ((event.clientX - place.left) / place.width) * width;
      };
      let start = null;
      chart.svg.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        start = xOf(event);
        chart.svg.setPointerCapture(event.pointerId);
      });
      chart.svg.addEventListener("pointermove", (event) => {
        const x = xOf(event);
        const index = nearest(chart, nightAt(x));
        if (index === null) return;
        tell(chart, index);
        if (start === null || Math.abs(x - start) < 4) return;
        const brush = element("rect", chart.svg);
        brush.setAttribute("class", "brush");
        const across = { x: Math.min(x, start), y: 0, width: Math.abs(x - start), height: chart.height };
        Object.entries(across).forEach(([key, value]) => brush.setAttribute(key, value));
      });
      chart.svg.addEventListener("pointerup", (event) => {
        const x = xOf(event);
        if (start !== null && Math.abs(x - start) >= 4) zoom(nightAt(start), nightAt(x));
        start = null;
      });
      chart.svg.addEventListener("pointercancel", () => (start = null));
      chart.svg.addEventListener("pointerleave", hush);
      chart.svg.addEventListener("blur", hush);
      chart.svg.addEventListener("dblclick", () => zoom(first, last));
      chart.svg.addEventListener("keydown", (event) => {
        const night = chart.at === null ? to : clamp(chart.nights[chart.at], from, to);
        const steps = { ArrowLeft: -1, ArrowRight: 1 };
        if (event.key in steps) {
          const next = chart.at === null || tip.hidden ? nearest(chart, night) : chart.at + steps[event.key];
          if (chart.nights[next] >= from && chart.nights[next] <= to) tell(chart, next);
        } else if (event.key === "+" || event.key === "-") {
          const half = event.key === "+" ? (to - from) / 4 : Math.max(to - from, 1);
          zoom(Math.round(night - half), Math.round(night + half));
        } else if (event.key === "Escape") {
          zoom(first, last);
        } else return;
        event.preventDefault();
      });
    });
  });
})();
