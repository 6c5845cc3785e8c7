/* Search over search-index.js, which is loaded when it is first wanted: a script, as pages from a folder may not fetch. Each
 * entry is [address, title, heading, text]; found are those that have all words, the best first. */
"use strict";
(() => {
	const up = document.body.dataset.up;
	const form = document.getElementById("search");
	const input = document.getElementById("words");
	const found = document.getElementById("found");
	const MOST = 30, BEFORE = 60, AFTER = 140;
	let entries = null, wanted = false;

	function load() {
		if (wanted)
			return;
		wanted = true;
		const script = document.createElement("script");
		script.src = up + "search-index.js";
		script.onload = () => {
			entries = window.searchIndex.map(([address, title, heading, text]) => ({
				address, title, heading, text, head: (title + " " + heading).toLowerCase(), low: text.toLowerCase(),
			}));
			show();
		};
		document.head.append(script);
	}

	/* 0: a word is missing. Headings weigh more than text, and whole words more than parts of them. */
	function score(entry, words) {
		let sum = 0;
		for (const word of words) {
			const inHead = entry.head.includes(word), at = entry.low.indexOf(word);
			if (!inHead && at < 0)
				return 0;
			sum += (inHead ? 8 : 0) + (entry.heading.toLowerCase() === word || entry.title.toLowerCase() === word ? 8 : 0);
			sum += Math.min(entry.low.split(word, 6).length - 1, 5);
			if (at >= 0 && !/[a-z0-9_]/.test((entry.low[at - 1] || " ") + (entry.low[at + word.length] || " ")))
				sum += 2;
		}
		return sum;
	}

	/* The text with its words marked. */
	function marked(text, words) {
		const span = document.createElement("span");
		const pattern = new RegExp("(" + words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "gi");
		for (const [number, part] of text.split(pattern).entries()) {
			const piece = number % 2 ? document.createElement("mark") : document.createElement("span");
			piece.textContent = part;
			span.append(piece);
		}
		return span;
	}

	function snippet(entry, words) {
		const at = Math.max(0, Math.min(...words.map((word) => entry.low.indexOf(word)).filter((place) => place >= 0)));
		const first = Number.isFinite(at) ? Math.max(0, at - BEFORE) : 0;
		const text = entry.text.slice(first, first + BEFORE + AFTER);
		return (first > 0 ? "… " : "") + text + (first + text.length < entry.text.length ? " …" : "");
	}

	function item(entry, words) {
		const li = document.createElement("li"), link = document.createElement("a"), below = document.createElement("p");
		link.href = up + entry.address;
		link.textContent = entry.heading ? entry.title + " › " + entry.heading : entry.title;
		below.append(marked(snippet(entry, words), words));
		li.append(link, below);
		return li;
	}

	function show() {
		const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
		found.hidden = words.length === 0;
		if (words.length === 0 || entries === null)
			return;
		const best = entries.map((entry) => ({ entry, sum: score(entry, words) })).filter((one) => one.sum > 0);
		best.sort((a, b) => b.sum - a.sum);
		const list = document.createElement("ol"), count = document.createElement("p");
		list.append(...best.slice(0, MOST).map((one) => item(one.entry, words)));
		count.textContent = best.length === 0 ? "Nothing has all of these words."
			: best.length > MOST ? `The best ${MOST} of ${best.length} places` : `${best.length} ${best.length === 1 ? "place" : "places"}`;
		found.replaceChildren(count, list);
		window.scrollTo(0, 0);
	}

	form.hidden = false;
	input.addEventListener("focus", load);
	input.addEventListener("input", () => { load(); show(); });
	input.addEventListener("keydown", (event) => {
		if (event.key === "Escape") {
			input.value = "";
			show();
		}
	});
	found.addEventListener("click", (event) => { /* a link into this page */
		if (event.target.closest("a"))
			found.hidden = true;
	});
	form.addEventListener("submit", (event) => {
		event.preventDefault();
		const first = found.querySelector("a");
		if (first)
			first.click();
	});
})();
