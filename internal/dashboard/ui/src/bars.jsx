import { compact, int, percent } from "./format.js";

const share = (n, of) => (of > 0 ? Math.max(0, Math.min(1, n / of)) : 0);
const across = (x) => `${(100 * x).toFixed(2)}%`;

// Level is a bucket of the provider's: what is left of what it holds, with the
// floors below which we slow down and stop.
export function Level({ name, unit, level, capacity, soft, hard, others, limit }) {
	if (typeof level !== "number" || !(capacity > 0)) {
		return (
			<div class="level unknown" title={`${name}: not known yet`}>
				<div class="track" />
				<div class="under"><span class="label">{name}</span><span class="faint">not known</span></div>
			</div>
		);
	}
	const left = share(level, capacity);
	const state = level <= (hard ?? -1) ? "empty" : level <= (soft ?? -1) ? "low" : "";
	const words = [`${name}: ${percent(left)} left, ${int(Math.max(0, Math.round(level)))} of ${int(Math.round(capacity))} ${unit}`];
	if (limit > 0) words.push(`limit ${int(Math.round(limit))} a minute`);
	if (soft > 0) words.push(`slower below ${int(Math.round(soft))}`);
	if (hard > 0) words.push(`none below ${int(Math.round(hard))}`);
	if (others > 0) words.push(`others use ${int(Math.round(others))} a minute`);
	return (
		<div class={`level ${state}`} title={words.join("; ")}>
			<div class="track" role="meter" aria-label={words[0]} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(100 * left)}>
				<i class="fill" style={{ width: across(left) }} />
				{soft > 0 && <i class="floor soft" style={{ left: across(share(soft, capacity)) }} />}
				{hard > 0 && <i class="floor hard" style={{ left: across(share(hard, capacity)) }} />}
			</div>
			<div class="under">
				<span class="label">{name}</span>
				<span class="value">{compact(Math.max(0, Math.round(level)), 1000)}<span class="faint"> / {compact(Math.round(capacity), 1000)}</span></span>
			</div>
			{others > 0 && limit > 0 && others / limit >= 0.005 && <div class="others">others ~{percent(others / limit)}</div>}
		</div>
	);
}

// Window is what a lane has in flight, against how much it may have now (the
// mark) and may ever have (the end). A window of 0 is of a lane that has sent
// nothing yet, and no bound.
export function Window({ inFlight, window, cap, what }) {
	const end = Math.max(cap || 0, window || 0, inFlight || 0, 1);
	const now = Math.floor(window ?? 0);
	const words = `${int(inFlight)} ${what} in flight; the window is ${now > 0 ? int(now) : "not known yet"}${cap > 0 ? `, the cap ${int(cap)}` : ""}`;
	return (
		<div class={`window ${inFlight >= now && now > 0 ? "full" : ""}`} title={words}>
			<div class="track" role="meter" aria-label={words} aria-valuemin={0} aria-valuemax={end} aria-valuenow={inFlight ?? 0}>
				<i class="fill" style={{ width: across(now > 0 || cap > 0 ? share(inFlight, end) : 0) }} />
				{window > 0 && <i class="mark" style={{ left: across(share(window, end)) }} />}
			</div>
			<div class="under">
				<span class="value"><b>{int(inFlight)}</b><span class="faint">{now > 0 ? ` / ${int(now)}` : ""}{cap > 0 ? ` of ${int(cap)}` : ""}</span></span>
			</div>
		</div>
	);
}

// Queue is a batch queue: our rows and others' in what it may hold.
export function Queue({ ours, others, holds }) {
	const known = holds > 0;
	const words = `${int(ours)} of our rows queued${others > 0 ? `, ${int(others)} of others` : ""}${known ? `; the queue holds ${int(holds)}` : ""}`;
	return (
		<div class={`level ${known ? "" : "unknown"}`} title={words}>
			<div class="track" role="meter" aria-label={words} aria-valuemin={0} aria-valuemax={holds || 1} aria-valuenow={ours ?? 0}>
				<i class="fill queue" style={{ width: across(share(ours, holds)) }} />
				{known && others > 0 && <i class="fill theirs" style={{ left: across(share(ours, holds)), width: across(Math.min(share(others, holds), 1 - share(ours, holds))) }} />}
			</div>
			<div class="under">
				<span class="label">rows queued</span>
				<span class="value">{compact(ours)}<span class="faint">{known ? ` / ${compact(holds)}` : " / not known"}</span></span>
			</div>
		</div>
	);
}

// Progress is a job's rows by how they stand.
export function Progress({ n, parts, label }) {
	const done = parts.reduce((sum, p) => sum + (p.n || 0), 0);
	return (
		<div class="progress" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={n || 1} aria-valuenow={done} aria-valuetext={`${int(done)} of ${int(n)}`}>
			{parts.map((p) => p.n > 0 && <i key={p.name} class={p.name} style={{ width: across(share(p.n, n)) }} title={`${p.name}: ${int(p.n)}`} />)}
		</div>
	);
}

export const parts = (job) => ["succeeded", "errored", "expired", "canceled"].map((name) => ({ name, n: job[name] ?? 0 }));
