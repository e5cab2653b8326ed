import { state } from "./live.js";
import { compact, int, percent, rate, usd } from "./format.js";
import { Charts } from "./charts.jsx";
import { Lanes } from "./lanes.jsx";
import { Batches, Clients, Queues } from "./queues.jsx";
import { active, JobTable } from "./jobs.jsx";

export function Overview() {
	const s = state.value;
	return (
		<div class="overview">
			<h1 class="unseen">Overview</h1>
			<Figures s={s} />
			<Charts />
			{s?.mode !== "view" && <Lanes lanes={s?.lanes} view={s?.mode === "view"} />}
			<div class="halves">
				<Queues queues={s?.queues} />
				<Clients clients={s?.clients} />
			</div>
			<Batches batches={s?.batches} />
			<JobTable jobs={s?.jobs} limit={8} />
		</div>
	);
}

// Figures are the few numbers that say how it goes.
function Figures({ s }) {
	const t = s?.totals;
	const sync = s?.lanes?.filter((l) => l.tier === "sync") ?? [];
	const perMin = s?.jobs?.reduce((sum, j) => (j.rate_per_min > 0 ? sum + j.rate_per_min : sum), 0);
	const flight = s ? sync.reduce((sum, l) => sum + (l.in_flight ?? 0), 0) : null;
	const waiting = s?.queues ? s.queues.reduce((sum, q) => sum + (q.queued ?? 0), 0) : null;
	const refused = t && t.calls > 0 ? (t.refused ?? 0) / (t.calls + (t.refused ?? 0) + (t.overloaded ?? 0)) : null;
	return (
		<dl class="figures" aria-label="In all">
			<Figure name="in flight" value={int(flight)} note={waiting === null ? "calls" : `${compact(waiting)} waiting`} />
			<Figure name="rows of jobs a minute" value={perMin > 0 ? rate(perMin) : "–"} note={s?.jobs ? `${int(s.jobs.filter(active).length)} running` : ""} />
			<Figure name="calls" value={compact(t?.calls)} note={t?.succeeded == null ? "" : `${compact(t.succeeded)} answered`} />
			<Figure name="refused" value={compact(t?.refused)} note={refused === null ? "429s" : `${percent(refused)} of attempts`} tone={refused > 0.05 ? "slow" : ""} />
			<Figure name="overloaded" value={compact(t?.overloaded)} note="529s" />
			<Figure name="attempts a call" value={t?.attempts_per_call == null ? "–" : t.attempts_per_call.toFixed(2)} note="1.00 is best" />
			<Figure name="spent" value={usd(t?.cost_usd)} note={t?.cap_usd != null ? `of ${usd(t.cap_usd)}` : t?.estimated_usd > 0 ? `${usd(t.estimated_usd)} of it estimated` : "no cap"} />
		</dl>
	);
}

function Figure({ name, value, note, tone = "" }) {
	return (
		<div class={`figure ${tone}`}>
			<dt>{name}</dt>
			<dd>
				<span class="big">{value}</span>
				<span class="note">{note || "\u00a0"}</span>
			</dd>
		</div>
	);
}
