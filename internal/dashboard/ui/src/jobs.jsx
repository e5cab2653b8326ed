import { useState } from "preact/hooks";
import { now } from "./live.js";
import { href } from "./route.js";
import { compact, int, moment, percent, rate, span, usd } from "./format.js";
import { Progress, parts } from "./bars.jsx";

// JobTable is the jobs of the journal, newest first; `limit` of them, 0 for all.
export function JobTable({ jobs, limit }) {
	const [most, setMost] = useState(limit || 100);
	const shown = limit ? inShort(jobs, limit) : jobs?.slice(0, most);
	return (
		<section aria-labelledby="jobs">
			<div class="section-head">
				<h2 id="jobs">Jobs</h2>
				{limit > 0 && jobs?.length > limit && <a href="#/jobs">All {int(jobs.length)}</a>}
			</div>
			{!jobs ? <p class="no-data">no data yet</p> : jobs.length === 0 ? <p class="no-data">The journal has no jobs.</p> : (
				<div class="job-list">
					{shown.map((j) => <JobLine key={j.key} j={j} />)}
				</div>
			)}
			{!limit && jobs?.length > most && <p class="more-jobs"><button type="button" onClick={() => setMost(most + 200)}>Show older jobs ({int(jobs.length - most)})</button></p>}
		</section>
	);
}

// inShort takes what goes on first, then the newest.
function inShort(jobs, limit) {
	return jobs && [...jobs.filter(active), ...jobs.filter((j) => !active(j))].slice(0, limit);
}

// named says whether a job's command names its client already.
const named = (j) => (j.command ?? "").split(/[ ,]+/).includes(j.client);

// JobLine leaves a gateway's calls without a bar: their number grows by itself, and
// what is settled is nearly all of it.
function JobLine({ j }) {
	const settled = parts(j).reduce((sum, p) => sum + p.n, 0);
	return (
		<a class="job-line" href={href("jobs", j.key)}>
			<span class="job-name"><b class="mono">{j.key}</b> <State j={j} /></span>
			<span class="job-command">{j.client && !named(j) && <><span class="faint text">{j.client}</span>: </>}<span class="text" title={j.command}>{j.command || j.kind}</span></span>
			<span class="job-progress">
				{j.kind !== "serve" && <Progress n={j.n} parts={parts(j)} label={`rows of job ${j.key}`} />}
				<span class="under"><span>{compact(settled)}<span class="faint">{j.kind === "serve" ? " calls" : ` / ${compact(j.n)}`}</span>{j.errored > 0 && <span class="bad"> · {compact(j.errored)} errored</span>}</span><span>{j.n > 0 && j.kind !== "serve" ? percent(Math.floor((1000 * settled) / j.n) / 1000) : ""}</span></span>
			</span>
			<span class="job-money num">{usd(j.settled_usd)}{j.cap_usd != null && <small> of {usd(j.cap_usd)}</small>}{j.reserved_usd > 0 && <small class="faint" title="set aside for rows under way, at their worst"> + {usd(j.reserved_usd)}</small>}</span>
			<span class="job-when num"><Ending j={j} /></span>
		</a>
	);
}

const stateWords = { running: "running", waiting: "waiting", paused: "paused", canceling: "being canceled", interrupted: "interrupted", stopped: "stopped", finished: "finished" };

// active says whether a process carries the job now.
export const active = (j) => ["running", "waiting", "paused", "canceling"].includes(j.state);

const held = {
	cap: "Held back by its cap: more goes out when the cap is raised, or money set aside comes back.",
	budget: "Held back by the cap on money that it shares with others: more goes out when there is room under it.",
	closed: "Every lane that could take its rows is closed: it is tried again by and by.",
	elsewhere: "Another process carries it.",
	fault: "It could not be carried on: the log says why, and it is tried again by and by.",
};

// holdsJob says what keeps a job from sending its next row; empty: nothing that
// is known.
export const holdsJob = (j) => (active(j) && held[j.held]) || "";

export function State({ j }) {
	return <span class={`state ${j.state}`}>{stateWords[j.state] ?? j.state}</span>;
}

function Ending({ j }) {
	const at = now.value;
	if (j.ended) return <span class="faint">{moment(j.ended, at)}</span>;
	if (!active(j)) return <span class="faint">since {moment(j.created, at)}</span>;
	const left = (Date.parse(j.eta ?? "") - at) / 1000;
	return (
		<>
			{Number.isNaN(left) ? <span class="faint">end not known</span> : <span>{left > 1 ? `${span(left)} left` : "any moment"}</span>}
			<small>{j.rate_per_min > 0 ? `${rate(j.rate_per_min)} a minute` : "\u00a0"}</small>
		</>
	);
}
