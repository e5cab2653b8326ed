import { now, state } from "./live.js";
import { href } from "./route.js";
import { segment } from "./api.js";
import { useFetched } from "./fetched.js";
import { compact, int, moment, percent, rate, span, usd } from "./format.js";
import { Progress, parts } from "./bars.jsx";
import { active, holdsJob, JobTable, State } from "./jobs.jsx";
import { Controls } from "./controls.jsx";
import { Cap, outlook } from "./cap.jsx";
import { Totals } from "./totals.jsx";
import { Rows } from "./rows.jsx";

export function Jobs() {
	return (
		<div class="page">
			<h1 class="unseen">Jobs</h1>
			<JobTable jobs={state.value?.jobs} limit={0} />
		</div>
	);
}

// Job is one job: what the stream says of it is newest, the rest is asked for. How
// many rows ended how, and why answers ended, are read side by side: both are of
// what was asked for, so that they are of one moment.
export function Job({ job }) {
	const live = state.value?.jobs?.find((j) => j.key === job);
	const goesOn = live ? active(live) : false;
	const { data, error, loading } = useFetched(`api/jobs/${segment(job)}`, goesOn ? 1 : 60);
	const j = data || live ? { ...data, ...live, ...counted(data) } : null;
	if (!j) {
		return (
			<section class="page">
				<h1>Job <span class="mono">{job}</span></h1>
				<p class={error ? "fault" : "faint"}>{loading ? "reading the journal…" : error}</p>
			</section>
		);
	}
	return (
		<div class="page job">
			<Head j={j} />
			<Standing j={j} />
			<Totals j={j} />
			<Rows job={job} n={j.n} active={goesOn} settled={parts(j).reduce((sum, p) => sum + p.n, 0)} />
		</div>
	);
}

const counted = (data) => data && Object.fromEntries(["n", ...colours].map((name) => [name, data[name]]));

function Head({ j }) {
	return (
		<header class="job-head">
			<div>
				<h1><span class="mono">{j.key}</span> <State j={j} /></h1>
				<p class="command mono text">{j.command || j.kind}</p>
				<p class="faint files">
					{j.client && <>client {j.client} · </>}
					{j.inputs?.length > 0 && <>from <Files names={j.inputs} /> </>}
					{j.outs?.length > 0 && <>to <Files names={j.outs} /></>}
				</p>
				{j.kind === "judge" && <p class="to-verdicts"><a href={href("jobs", j.key, "verdicts")}>Verdicts: scores, groups, where judges differ, and rows to read</a></p>}
			</div>
			<Controls j={j} />
		</header>
	);
}

function Files({ names }) {
	const all = names.map((f) => (typeof f === "string" ? f : f.path ?? f.name ?? ""));
	return <span class="mono text">{all.slice(0, 3).join(", ")}{all.length > 3 ? ` and ${all.length - 3} more` : ""}</span>;
}

const colours = ["succeeded", "errored", "expired", "canceled", "pending"];

function Standing({ j }) {
	const settled = parts(j).reduce((sum, p) => sum + p.n, 0);
	const at = now.value;
	const left = (Date.parse(j.eta ?? "") - at) / 1000;
	const { each, end } = outlook(j, settled);
	return (
		<section class="standing" aria-label="How it stands">
			<div class="standing-progress">
				<p class="of"><b>{int(settled)}</b> of {int(j.n)} rows <span class="faint">{j.n > 0 ? percent(Math.floor((1000 * settled) / j.n) / 1000) : ""}</span></p>
				<Progress n={j.n} parts={parts(j)} label="rows of this job" />
				<ul class="legend">
					{colours.map((name) => (
						<li key={name}><i class={`swatch ${name}`} aria-hidden="true" />{name} <b>{int(j[name])}</b></li>
					))}
				</ul>
			</div>
			<dl class="facts">
				<div><dt>{j.ended ? "ended" : "ends"}</dt><dd>{j.ended ? moment(j.ended, at) : Number.isNaN(left) ? "not known" : <>{moment(j.eta, at)} <small>{left > 1 ? `in ${span(left)}` : "any moment"}</small></>}</dd></div>
				<div><dt>began</dt><dd>{moment(j.created, at)}</dd></div>
				<div><dt>rows a minute</dt><dd>{j.rate_per_min > 0 ? rate(j.rate_per_min) : "–"}</dd></div>
				<div><dt>dollars a row</dt><dd>{each !== null ? usd(each) : "–"}</dd></div>
			</dl>
			<Cap j={j} end={end} />
			{holdsJob(j) && <p class="stops slow">{holdsJob(j)}</p>}
			<Stops reasons={j.stop_reasons} />
		</section>
	);
}

const reasonWords = { max_tokens: "cut by max_tokens", refusal: "refused by the model" };

function Stops({ reasons }) {
	const all = Object.entries(reasons ?? {}).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
	if (!all.length) return null;
	return (
		<p class="stops">
			<span class="faint">Answers ended by</span>{" "}
			{all.map(([name, n], i) => (
				<span key={name}>{i > 0 && " · "}<span class={reasonWords[name] ? "slow" : ""}>{reasonWords[name] ?? name} <b>{compact(n)}</b></span></span>
			))}
		</p>
	);
}
