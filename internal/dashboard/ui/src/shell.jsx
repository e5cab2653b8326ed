import { useEffect, useRef } from "preact/hooks";
import { route, href } from "./route.js";
import { link, now, reconnect, state } from "./live.js";
import { nextTheme, theme } from "./theme.js";
import { moment, span } from "./format.js";
import { Help, openHelp } from "./help.jsx";
import { Overview } from "./overview.jsx";
import { Job, Jobs } from "./job.jsx";
import { Judge } from "./judge.jsx";
import { Recent } from "./recent.jsx";
import { Limits } from "./limits.jsx";
import { Experiments } from "./experiments.jsx";
import { Guidelines } from "./guidelines.jsx";

const pages = [
	["", "Overview", () => <Overview />],
	["jobs", "Jobs", (key, of) => (!key ? <Jobs /> : of === "verdicts" ? <Judge key={key} job={key} /> : <Job key={key} job={key} />)],
	["calls", "Calls", () => <Recent />],
	["limits", "Limits", () => <Limits />],
	["experiments", "Experiments", (name) => <Experiments name={name} />],
	["guidelines", "Guidelines", () => <Guidelines />],
];

export function Shell() {
	const [at = "", rest, of] = route.value.parts;
	const page = pages.find(([path]) => path === at);
	const title = page ? [at === "jobs" && rest, of === "verdicts" ? "Verdicts" : page[1]].filter(Boolean).join(" · ") : "Not found";
	useEffect(() => {
		document.title = `${title} – flotilla`;
	}, [title]);
	return (
		<>
			<a class="skip" href="#main" onClick={toMain}>Skip to the content</a>
			<Top at={at} />
			<Notices />
			<main id="main" tabIndex={-1} class={stale() ? "stale" : ""}>
				{page ? page[2](rest, of) : <NotFound />}
			</main>
			<Foot />
			<Lost />
			<Help />
		</>
	);
}

// toMain moves the focus and leaves the address alone, which is the route.
function toMain(e) {
	e.preventDefault();
	document.getElementById("main").focus();
}

function Top({ at }) {
	const nav = useRef(null);
	useEffect(() => {
		nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
	}, [at]);
	return (
		<header class="top">
			<a class="brand" href="#/" aria-label="flotilla, overview">
				<Mark />
				<span>flotilla</span>
			</a>
			<nav ref={nav} aria-label="Pages">
				{pages.map(([path, name]) => (
					<a key={path} href={path ? href(path) : "#/"} aria-current={path === at ? "page" : undefined}>{name}</a>
				))}
			</nav>
			<div class="top-end">
				<Link />
				<button class="quiet icon" type="button" onClick={nextTheme} aria-label={`Theme: ${theme.value || "as the system"}. Change it`} title={`Theme: ${theme.value || "as the system"}`}>
					<ThemeSign />
				</button>
				<button class="quiet icon" type="button" onClick={openHelp} aria-label="Keys and help" title="Keys and help (?)">?</button>
			</div>
		</header>
	);
}

function Mark() {
	return (
		<svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
			<path d="M3 18h18M5 15l4-8v8zM11.5 15l5.5-12v12z" />
		</svg>
	);
}

function ThemeSign() {
	return (
		<svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
			<circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.5" />
			<path d={theme.value === "" ? "M8 2a6 6 0 0 0 0 12z" : theme.value === "dark" ? "M8 2a6 6 0 1 0 0 12a6 6 0 0 0 0-12z" : "M8 5a3 3 0 1 0 0 6a3 3 0 0 0 0-6z"} fill="currentColor" />
		</svg>
	);
}

const linkWords = { connecting: "connecting", live: "live", lost: "not connected", silent: "nothing heard" };

function Link() {
	const { status } = link.value;
	return (
		<span class={`link ${status}`} role="status">
			<span class="dot" aria-hidden="true" />
			<span class="link-word">{linkWords[status]}</span>
		</span>
	);
}

// Notices say what makes the numbers below not what they seem.
function Notices() {
	const s = state.value;
	return (
		<div class="notices">
			{s?.emulated && (
				<p class="notice emulated">
					<b>Emulated.</b> These answers and limits come from the emulator ({s.emulated}), not from the provider.
				</p>
			)}
			{s?.faults?.map((f) => <p key={f} class="notice lost text">Something could not be read: {f}</p>)}
			{s?.mode === "view" && <p class="notice">Nothing runs in this process: what the journal knows is shown, and lanes are not.</p>}
		</div>
	);
}

// whole is a duration without parts of a second, which nobody reads while they
// tick.
const whole = (s) => (s < 60 ? `${Math.max(0, Math.round(s))}\u00a0s` : span(s));

const stale = () => link.value.status === "lost" || link.value.status === "silent";

// Lost lies over the page, which does not move for it.
function Lost() {
	const { status, heard, retryAt } = link.value;
	if (!stale()) return null;
	void now.value; // the seconds below tick with it
	const ago = heard ? `what you see is ${whole((Date.now() - heard) / 1000)} old` : "nothing has come yet";
	const again = status === "lost" ? `, next try in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))}\u00a0s` : "";
	return (
		<p class="lost-bar">
			<b role="alert">{status === "lost" ? "The connection to flotilla is lost" : "flotilla has gone silent"}</b>: {ago}{again}.{" "}
			<button type="button" class="small" onClick={reconnect}>Try now</button>
		</p>
	);
}

// Foot says what is looked at.
function Foot() {
	const s = state.value;
	if (!s) return null;
	const facts = [`flotilla ${s.version}`, s.journal && `journal ${s.journal}`, s.began && `since ${moment(s.began, now.peek())}`, s.speed > 1 && `the provider's clock runs ${s.speed} times as fast`];
	return <footer class="foot faint text">{facts.filter(Boolean).join(" · ")}</footer>;
}

function NotFound() {
	return (
		<section class="page">
			<h1>No such page</h1>
			<p><a href="#/">To the overview</a></p>
		</section>
	);
}
