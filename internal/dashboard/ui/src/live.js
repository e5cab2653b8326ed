import { signal } from "@preact/signals";
import { get } from "./api.js";

// state is the last api/state, null before the first.
export const state = signal(null);

// points are the points of api/events since the page was opened, newest last, at
// most those of ten minutes.
export const points = signal([]);

// link says how the connection is: "connecting", "live", "lost" or "silent" (it
// stands, but nothing has come for a while); heard is when something last came.
export const link = signal({ status: "connecting", heard: 0, retryAt: 0 });

// now is the server's time in ms. It ticks once a second while the page is seen.
export const now = signal(Date.now());

const KEEP = 600;
const SILENT = 20000; // ms; a state or a point comes more often than that
const GAP = 950; // ms between two drawings at least

let source = null;
let waiting = null; // the newest state that is not drawn yet
let drawn = 0;
let frame = 0;
let tries = 0;
let retry = 0;
let heard = 0; // of performance.now()
let clock = { server: Date.now(), own: performance.now() };

// accept takes what the server said; it is drawn with the next frame and at most
// once a second, however often it comes.
function accept(next) {
	waiting = next;
	hear();
	if (!frame) frame = requestAnimationFrame(draw);
}

function draw() {
	frame = 0;
	if (!waiting) return;
	const rest = GAP - (performance.now() - drawn);
	if (rest > 0) {
		setTimeout(() => (frame ||= requestAnimationFrame(draw)), rest);
		return;
	}
	drawn = performance.now();
	setClock(waiting);
	state.value = waiting;
	waiting = null;
}

function setClock(s) {
	const server = Date.parse(s.now);
	if (Number.isNaN(server)) return;
	clock = { server, own: performance.now() };
	now.value = server;
}

function hear() {
	heard = performance.now();
	if (link.value.status !== "live") link.value = { status: "live", heard: Date.now(), retryAt: 0 };
}

// lastHeard is when something last came, in ms of the browser's own clock; 0:
// nothing has.
const lastHeard = () => heard && Date.now() - (performance.now() - heard);

function connect() {
	clearTimeout(retry);
	source?.close();
	source = new EventSource("api/events");
	source.addEventListener("open", () => {
		tries = 0;
		hear();
	});
	source.addEventListener("state", (e) => parse(e.data, accept));
	source.addEventListener("point", (e) => parse(e.data, addPoint));
	source.addEventListener("error", lose);
}

function parse(text, use) {
	let value;
	try {
		value = JSON.parse(text);
	} catch {
		return; // the next one will do
	}
	use(value);
}

function addPoint(p) {
	hear();
	const all = points.value.length >= KEEP ? points.value.slice(1) : points.value.slice();
	all.push(p);
	points.value = all;
}

// lose closes the connection and tries again after 1, 2, 4, 8 s and so on, 15 s
// at most. The browser's own retry does not tell when, and gives up on a 500.
function lose() {
	source?.close();
	const wait = Math.min(15000, 1000 * 2 ** tries++);
	link.value = { status: "lost", heard: lastHeard(), retryAt: Date.now() + wait };
	clearTimeout(retry);
	retry = setTimeout(connect, wait);
}

// reconnect is for a reader who does not want to wait.
export function reconnect() {
	tries = 0;
	connect();
}

function tick() {
	if (!document.hidden) {
		const own = performance.now();
		now.value = clock.server + (own - clock.own);
		if (link.value.status === "live" && own - heard > SILENT) {
			link.value = { status: "silent", heard: lastHeard(), retryAt: 0 };
		}
	}
}

// A page that nobody sees gives its connection back after a while: a browser
// keeps only six to one server, over all its tabs.
const UNSEEN = 15000;
let unseen = 0;

function look() {
	clearTimeout(unseen);
	if (document.hidden) {
		unseen = setTimeout(() => {
			clearTimeout(retry);
			source?.close();
			source = null;
		}, UNSEEN);
	} else if (!source) {
		link.value = { status: "connecting", heard: lastHeard(), retryAt: 0 };
		reconnect();
	}
}

// start connects once; the first state is asked for, since the stream tells only
// of changes.
export function start() {
	connect();
	setInterval(tick, 1000);
	get("api/state").then(accept, () => {});
	addEventListener("online", reconnect);
	document.addEventListener("visibilitychange", look);
}

// refresh asks for the state at once, after something was changed by hand.
export function refresh() {
	return get("api/state").then(accept, () => {});
}
