// What the pages' functions must do, run in a browser by build/units_test.go.
// Each failure is a line of globalThis.failures.
import { render } from "preact";
import { amount, bytes, compact, countdown, int, moment, ms, percent, plural, rate, span, usd } from "../src/format.js";
import { bins, width } from "../src/series.js";
import { classWords, holds, standing, tone } from "../src/words.js";
import { exact } from "../src/api.js";
import { Markdown } from "../src/markdown.jsx";
import { Marked } from "../src/row_list.jsx";
import { Blocks } from "../src/blocks.jsx";
import { callOf, interval, lacking, partsOf, score } from "../src/judge_words.js";
import { Labels, Spark } from "../src/judge_plot.jsx";
import { Cap, outlook } from "../src/cap.jsx";
import { holdsJob, JobTable } from "../src/jobs.jsx";
import { Window } from "../src/bars.jsx";

const failures = (globalThis.failures = []);
let checks = 0;

function is(got, want, what) {
	checks++;
	const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
	if (a !== b) failures.push(`${what}: got ${a}, want ${b}`);
}

const plain = (s) => s.replaceAll("\u00a0", " ");

function numbers() {
	for (const [n, want] of [[0, "0"], [9999, "9,999"], [10000, "10 k"], [12345, "12.3 k"], [999949, "1 M"], [1.2e6, "1.2 M"], [141600, "142 k"], [-12345, "-12.3 k"], [null, "–"], [NaN, "–"]]) is(plain(compact(n)), want, `compact(${n})`);
	is(plain(compact(1670, 1000)), "1.67 k", "compact from 1000");
	for (const [n, want] of [[0, "$0.00"], [0.01, "$0.01"], [12.345, "$12.35"], [1234.5, "$1,234.50"], [0.0069, "$0.0069"], [0.00123, "$0.0012"], [0.000056, "$0.000056"], [1e-9, "<$0.000001"], [-2, "−$2.00"], [undefined, "–"]]) is(usd(n), want, `usd(${n})`);
	for (const [s, want] of [[0, "0 s"], [0.84, "0.8 s"], [9.96, "10 s"], [42, "42 s"], [120, "2.0 min"], [7560, "2.1 h"], [200000, "2.3 d"], [null, "–"]]) is(plain(span(s)), want, `span(${s})`);
	for (const [n, want] of [[0, "0 ms"], [812.4, "812 ms"], [1312, "1.3 s"]]) is(plain(ms(n)), want, `ms(${n})`);
	for (const [x, want] of [[0, "0 %"], [0.003, "0.3 %"], [0.0999, "10 %"], [0.62, "62 %"], [1, "100 %"], [null, "–"]]) is(plain(percent(x)), want, `percent(${x})`);
	for (const [s, want] of [[-3, "0:00"], [8.2, "0:09"], [750, "12:30"], [3723, "1:02:03"]]) is(countdown(s), want, `countdown(${s})`);
	for (const [n, want] of [[0, "0"], [3.14159, "3.1"], [8940, "8,940"]]) is(rate(n), want, `rate(${n})`);
	is(amount(2.46), "2.5", "amount");
	is(int(141600), "141,600", "int");
	is(plain(bytes(1234567)), "1.23 MB", "bytes");
	is(plain(plural(1, "row")), "1 row", "one row");
	is(plain(plural(2, "batch", "batches")), "2 batches", "two batches");
	is(moment(null, 0), "–", "no moment");
	is(moment("nonsense", 0), "–", "no time");
}

// A bin of which nothing was recorded stays empty, and one of which only a part
// was is told by that part.
function series() {
	const none = { in_flight: [], queued: [], output_tokens: [], usd: [] };
	const s = { step_s: 1, t: [100, 101, 102, 103, 104, 105, 106, 107], calls: [1, 1, null, 3, null, null, null, null], refused: [0, 0, 0, 0, null, null, null, null], ...none };
	is(width(10, 1), 4, "a bin of 10 min");
	is(width(30, 10), 20, "a bin of 30 min");
	is(width(1440, 10), 600, "a bin of a day");
	const got = bins(s, [], 10, 108000);
	const at = (sec) => got.t.indexOf(sec);
	is(got.values.calls[at(100)], 100, "5 calls in 3 s, a minute");
	is(got.values.calls[at(104)], null, "a gap");
	is(got.values.refused[at(100)], 0, "a known nothing");
	is(got.values.in_flight.every((v) => v === null), true, "never recorded");
	const later = bins(s, [{ t: 107, calls: 9 }, { t: 108, calls: 2, in_flight: 7 }], 10, 109000);
	is(later.values.calls[later.t.indexOf(108)], 120, "a point that came later");
	is(later.values.in_flight[later.t.indexOf(108)], 7, "a level is not a sum");
	is(later.values.calls[later.t.indexOf(104)], null, "a point that the series has is not added again");
	const from = (began) => bins(s, [], 10, 7200000, began).range;
	is(from(0), [6600, 7200], "the axis of a fleet whose beginning nobody knows");
	is(from(3600000), [6600, 7200], "the axis of an old one");
	is(from(7000000), [7000, 7200], "the axis of a young one");
	is(from(7190000), [7140, 7200], "the axis of a very young one");
}

function words() {
	is(holds({ paused: true, closed: true, class: "credit" }), "paused by hand", "paused");
	is(holds({ closed: true, class: "credit" }), "its credit is used up", "closed");
	is(holds({ waiting: "aimd", tier: "batch" }), "our window of batches (it grows)", "batch window");
	is(holds({ waiting: "new_thing" }), "new_thing", "an unknown limit is its name");
	is(holds({ waiting: null }), "", "nothing holds");
	is(standing({ status: "succeeded", stop_reason: "max_tokens" }), "truncated", "truncated");
	is([tone("succeeded"), tone("overloaded"), tone("invalid"), tone("model"), tone("canceled")], ["good", "slow", "bad", "bad", "calm"], "tones");
	is([classWords("model"), classWords("server"), classWords("of tomorrow")], ["no such model", "server error", "of tomorrow"], "what attempts came to");
}

// What is set aside for rows under way is no price of theirs: a batch of 300 whose
// first 100 cost two cents is not about to cost a dollar.
function money() {
	const j = { key: "7f3a", n: 300, spent_usd: 1.02, settled_usd: 0.02, reserved_usd: 1, cap_usd: 2 };
	is(outlook(j, 100), { each: 0.0002, end: 0.06 }, "by what has settled");
	is(outlook(j, 0), { each: null, end: null }, "nothing has");
	is(outlook({ ...j, n: 100 }, 100).end, null, "nothing is left");
	const cap = (c) => drawn(<Cap j={c} end={outlook(c, 100).end} />).textContent;
	is(cap(j), "$0.02 of $2.00, $1.00 set asideabout $0.06 when all rows are done", "under a cap");
	is(cap({ ...j, cap_usd: null }), "$0.02 spent, $1.00 set aside, no capabout $0.06 when all rows are done", "without one");
	is(cap({ ...j, reserved_usd: 0, cap_usd: 0.05 }), "$0.02 of $0.05about $0.06 when all rows are done, which is over the cap", "too small a one");
	is(holdsJob({ state: "waiting", held: "budget" }).startsWith("Held back by the cap on money that it shares"), true, "held by the gateway's cap");
	is([holdsJob({ state: "running", held: null }), holdsJob({ state: "finished", held: "budget" })], ["", ""], "not held");
}

// What is not known, or not there, is left out.
function unknown() {
	const flight = (l) => drawn(<Window what="batches" {...l} />);
	is(flight({ inFlight: 1, window: 0, cap: null }).textContent, "1", "no window yet, no cap");
	is(flight({ inFlight: 1, window: 0, cap: null }).querySelector(".fill").style.width, "0%", "and no share of one");
	is(flight({ inFlight: 1, window: 4.7, cap: null }).textContent, "1 / 4", "no cap");
	is(flight({ inFlight: 1, window: 4.7, cap: 10 }).textContent, "1 / 4 of 10", "a cap");
	const line = (j) => drawn(<JobTable jobs={[{ key: "7f3a", n: 857, succeeded: 857, state: "running", ...j }]} />);
	const of = (j) => line(j).querySelector(".job-command").textContent;
	is(of({ client: "alice", command: "serve: alice, normal" }), "serve: alice, normal", "a client that is named");
	is(of({ client: "al", command: "batch msgbatch_1 of alice" }), "al: batch msgbatch_1 of alice", "one that is not");
	is(line({ kind: "serve" }).querySelector(".job-progress").textContent, "857 calls", "a gateway's calls have no end");
	is(line({ kind: "run" }).querySelector(".job-progress").children.length, 2, "rows have one");
}

// A body is shown as it was sent, also where a number is beyond a double.
function bodies() {
	const text = '{"n":12345678901234567890,"f":0.1,"i":42}';
	const v = JSON.parse(text, exact);
	is(JSON.stringify(v), JSON.rawJSON ? text : '{"n":12345678901234567000,"f":0.1,"i":42}', "large numbers");
	is(typeof v.f, "number", "small numbers stay numbers");
}

function drawn(vnode) {
	const box = document.createElement("div");
	render(vnode, box);
	return box;
}

const hostile = '<script>globalThis.owned = 1</script><img src=x onerror="globalThis.owned = 1"><a href="javascript:owned()">x</a>';

function texts() {
	let box = drawn(<Markdown text={`# T ${hostile}\n\n${hostile}\n\n[x](javascript:alert(1)) [y](https://example.org/) [z](data:text/html,x)\n\n![f](figures/knee.svg) ![g](https://example.org/x.png)\n\n- a ${hostile}\n- b\n\n| a | n |\n|---|---:|\n| ${hostile.replaceAll("|", "\\|")} | 1 |\n\n> q ${hostile}\n\n\`\`\`\n${hostile}\n\`\`\`\n`} />);
	is(box.querySelectorAll("script, iframe, object, embed, style, [onerror]").length, 0, "markdown makes nothing that runs");
	is([...box.querySelectorAll("a")].map((a) => a.getAttribute("href")), ["https://example.org/"], "links lead to the web alone");
	is([...box.querySelectorAll("img")].map((i) => i.getAttribute("src")), ["api/figures/knee.svg"], "images are figures of ours");
	is(box.textContent.split("<script>").length - 1, 6, "markup stays text");
	is(box.querySelectorAll("td.num").length, 1, "numbers stand right");

	box = drawn(<Markdown text={"a **b** `c|d` *e* snake_case_name\n\n<!-- hidden -->\n\n1. one\n2. two\n   more\n\n---\n| not a table\n"} />);
	is([...box.children].map((el) => el.tagName).join(), "P,OL,HR,P", "blocks");
	is(box.querySelector("p").textContent, "a b c|d e snake_case_name", "inline");
	is(box.textContent.includes("hidden"), false, "comments are left out");

	box = drawn(<Blocks content={[{ type: "text", text: hostile }, { type: "tool_use", name: hostile, input: { a: hostile } }, { type: "image", source: { type: "url", url: "https://example.org/x.png" } }, { type: "image", source: { type: "base64", media_type: "image/svg+xml", data: "AAAA" } }, null, { type: hostile }]} />);
	is(box.querySelectorAll("script, img, a, [onerror]").length, 0, "blocks make nothing that runs, and ask nobody");

	box = drawn(<Marked text={`Question ${hostile}`} q={'quest "<script>"'} />);
	is([...box.querySelectorAll("mark")].map((m) => m.textContent), ["Quest", "<script>"], "words that were searched for");
	is(box.textContent, `Question ${hostile}`, "marked text is the text");
	is(drawn(<Marked text="Straße İ" q="i" />).textContent, "Straße İ", "letters that fold to two");
	is(globalThis.owned, undefined, "nothing ran");

	const long = "\ud83d\ude00".repeat(20000);
	box = drawn(<Blocks content={long} />);
	is(box.textContent.length < 13000, true, "a long text is cut");
	is(/[\ud800-\udbff](?![\udc00-\udfff])/.test(box.textContent), false, "not within a letter");
}

// Scores have the digits of their scale, a histogram's parts its ends, and a row
// its calls in the journal's order.
function verdicts() {
	for (const [n, scale, want] of [[72.449, [0, 100], "72.4"], [72, [0, 100], "72"], [3.456, [1, 10], "3.46"], [0.12345, [0, 1], "0.123"], [-2, [-5, 5], "−2"], [null, [0, 1], "–"], [undefined, null, "–"]]) is(score(n, scale), want, `score(${n})`);
	const parts = partsOf([0, 1], [1, 0, 4, 2, 9]);
	is(parts.map((p) => [p.from, p.to]), [[0, 0.2], [0.2, 0.4], [0.4, 0.6], [0.6, 0.8], [0.8, 1]], "parts of a scale");
	is(parts.map((p) => p.last), [false, false, false, false, true], "the last part has its end");
	is(lacking({ scored: 5, truncated: 2, refused: 0, unparsable: 1, failed: 0 }), "2 truncated · 1 unparsable", "what has no score");
	is(lacking({ scored: 5, truncated: 0, refused: 0, unparsable: 0, failed: 0 }), "", "all have one");
	is(interval({ value: 1, low: null, high: null, n: 1 }, String), "", "no interval of one row");
	is([callOf({ judges: [1, 2], repeats: 3, swap: false }, 4, 1), callOf({ judges: [1, 2], repeats: 3, swap: true }, 4, 1), callOf({ judges: [1], repeats: 1, swap: false }, 7, 0)], [27, 54, 7], "the call of a row");
	const box = drawn(<Labels labels={[{ label: hostile, n: 1, share: { value: 0.5, low: 0.1, high: 0.9 } }]} choose={() => {}} />);
	is(box.querySelectorAll("script, img, a").length, 0, "labels make nothing that runs");
	is(drawn(<Spark counts={[0, 0]} />).querySelector("path").getAttribute("d"), "", "a group of nothing");
}

for (const f of [numbers, series, words, money, unknown, bodies, texts, verdicts]) {
	try {
		f();
	} catch (err) {
		failures.push(`${f.name}: ${err.stack}`);
	}
}
if (checks < 80) failures.push(`only ${checks} checks were made`);
