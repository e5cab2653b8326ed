import { segment } from "./api.js";
import { useFetched } from "./fetched.js";
import { href } from "./route.js";
import { now } from "./live.js";
import { day, int, moment, percent, usd } from "./format.js";

export function Experiments({ name }) {
	return name ? <Experiment name={name} /> : <List />;
}

function List() {
	const { data, error } = useFetched("api/experiments", 30);
	return (
		<section class="page" aria-labelledby="experiments">
			<h1 id="experiments">Experiments</h1>
			{error && <p class="fault">The experiments cannot be read: {error}</p>}
			{!data && !error && <p class="no-data">no data yet</p>}
			{data?.length === 0 && <p class="no-data">No experiment was run here yet: flotilla measure list says which there are.</p>}
			<ul class="papers">
				{data?.map((e) => (
					<li key={e.name}>
						<a href={href("experiments", e.name)}>
							{e.figures?.length > 0 && <img class="thumb" src={`api/figures/${segment(e.figures[0])}.svg`} alt="" loading="lazy" />}
							<h2 class="text">{e.title || e.name}</h2>
							<p class="verdict text">{e.verdict || "no verdict"}</p>
							<p class="faint small-print">{moment(e.at, now.peek())} · confidence {percent(e.confidence)} · {usd(e.usd)}{e.emulated && <span class="tag">emulated</span>}{e.figures?.length > 0 && ` · ${e.figures.length} ${e.figures.length === 1 ? "figure" : "figures"}`}</p>
						</a>
					</li>
				))}
			</ul>
		</section>
	);
}

function Experiment({ name }) {
	const list = useFetched("api/experiments");
	const { data: r, error } = useFetched(`api/experiments/${segment(name)}`);
	const figures = list.data?.find((e) => e.name === name)?.figures ?? [];
	return (
		<article class="page paper">
			<p><a href="#/experiments">Experiments</a></p>
			<h1 class="text">{r?.question ?? name}</h1>
			{error && <p class="fault">The experiment cannot be read: {error}</p>}
			{!r && !error && <p class="faint">reading…</p>}
			{r && (
				<>
					<p class="verdict text">{r.verdict}</p>
					<p class="faint small-print">
						confidence {percent(r.confidence)}{r.started && ` · ${day(new Date(r.started))}`}{r.window && ` · window ${r.window}`}
						{r.cost?.usd !== undefined && ` · ${usd(Number(r.cost.usd))}`}{r.emulated && <span class="tag">emulated {r.emulated}</span>}
					</p>
					{r.stopped && <p class="slow text">It was stopped before its time: {r.stopped}</p>}
					{figures.map((f) => <img key={f} class="plot-paper" src={`api/figures/${segment(f)}.svg`} alt={`figure ${f}`} loading="lazy" />)}
					<Expected said={r.hypothesis} />
					<Metrics metrics={r.metrics} />
					<Bounds binding={r.binding} />
					{r.not_shown?.length > 0 && <><h2>What it could not show</h2><ul>{r.not_shown.map((t, i) => <li key={i} class="text">{t}</li>)}</ul></>}
				</>
			)}
		</article>
	);
}

function Expected({ said }) {
	const text = said?.text;
	return text ? <><h2>What was expected</h2><p class="text">{text}</p></> : null;
}

function Metrics({ metrics }) {
	if (!metrics?.length) return null;
	return (
		<>
			<h2>What was measured</h2>
			<div class="scroll">
				<table>
					<thead><tr><th scope="col">number</th><th scope="col">of</th><th scope="col" class="num">value</th><th scope="col">unit</th><th scope="col" class="num">95 % interval</th><th scope="col" class="num">observations</th></tr></thead>
					<tbody>
						{metrics.map((m, i) => (
							<tr key={i}>
								<th scope="row">{m.name}</th>
								<td class="text">{[m.org, m.pool, m.model, m.at].filter(Boolean).join(", ")}</td>
								<td class="num">{m.bound ? `${m.bound === ">=" ? "≥" : "≤"} ` : ""}{figure(m.value)}{m.provisional && <span class="faint" title="of one window alone, or an interval too wide"> (p)</span>}</td>
								<td>{m.unit}</td>
								<td class="num faint">{m.low === m.high ? "exact" : `${figure(m.low)} – ${figure(m.high)}`}</td>
								<td class="num">{m.n > 0 ? int(m.n) : "–"}</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</>
	);
}

function figure(n) {
	if (typeof n !== "number") return "–";
	return Math.abs(n) >= 100 ? int(n) : String(Number(n.toPrecision(3)));
}

function Bounds({ binding }) {
	if (!binding?.length) return null;
	return (
		<>
			<h2>Which limit bound</h2>
			<ul>{binding.map((b, i) => <li key={i} class="text"><b>{b.limit}</b> of {[b.org, b.pool, b.tier].filter(Boolean).join(" ")}; whose to change: {b.whose_to_change}{b.signs?.length > 0 && <span class="faint"> ({b.signs.join("; ")})</span>}</li>)}</ul>
		</>
	);
}
