import { int, percent } from "./format.js";
import { Confusion } from "./judge_one.jsx";
import { callOf, interval, judgeName, plain, score, share } from "./judge_words.js";

// Pairs holds every two judges against each other, on the rows that both scored.
export function Pairs({ page, open }) {
	const list = page.summary.comparisons ?? [];
	if (!list.length) return null;
	return (
		<section aria-labelledby="pairs">
			<h2 id="pairs">Judges against each other</h2>
			{list.map((c) => <Pair key={`${c.a}-${c.b}`} c={c} page={page} open={open} />)}
		</section>
	);
}

function Pair({ c, page, open }) {
	const [a, b] = [page.summary.judges[c.a], page.summary.judges[c.b]];
	const write = (v) => score(v, a.scale);
	const signed = (v) => (v > 0 ? `+${write(v)}` : write(v));
	const facts = [
		["rows both scored", int(c.n)],
		["one alone", `${int(c.only_a)} A · ${int(c.only_b)} B`],
		["neither", int(c.neither)],
		["means on those rows", c.mean_a == null ? null : `${write(c.mean_a)} A · ${score(c.mean_b, b.scale)} B`],
		["B less A", c.difference ? `${signed(c.difference.value)}${c.difference.low == null ? "" : ` (${signed(c.difference.low)} to ${signed(c.difference.high)})`}` : null],
		["deviation of the rows' differences", c.difference_sd == null ? null : write(c.difference_sd)],
		["rank correlation", c.spearman == null ? null : plain(c.spearman)],
		["the same label", c.agree ? `${share(c.agree)} (${interval(c.agree, percent)})` : null],
		["kappa", c.kappa == null ? null : plain(c.kappa)],
		["weighted kappa", c.weighted_kappa == null ? null : plain(c.weighted_kappa)],
		["between repeats", c.noise_a == null && c.noise_b == null ? null : `${noise(c, c.noise_a, write)} A · ${noise(c, c.noise_b, write)} B`],
	].filter(([, v]) => v !== null);
	return (
		<div class="pair">
			<h3><b>A</b> <span class="text">{judgeName(a)}</span> <span class="faint">·</span> <b>B</b> <span class="text">{judgeName(b)}</span></h3>
			<dl class="facts">{facts.map(([name, v]) => <div key={name}><dt>{name}</dt><dd>{v}</dd></div>)}</dl>
			<div class="pair-parts">
				{c.confusion && <Confusion c={c.confusion} down="A" over="B" />}
				{c.largest?.length > 0 && <Largest list={c.largest} labels={!!c.confusion} signed={signed} open={(row) => open(callOf(page, row, c.a))} />}
			</div>
		</div>
	);
}

const noise = (c, v, write) => (v == null ? "–" : c.confusion ? `${percent(v)} differ` : write(v));

// Largest are the rows on which the two differ most; a press reads one.
function Largest({ list, labels, signed, open }) {
	return (
		<div class="scroll">
			<table class="largest">
				<caption>Where they differ most</caption>
				<thead><tr><th scope="col">row</th><th scope="col" class="num">A</th><th scope="col" class="num">B</th><th scope="col" class="num">{labels ? "repeats that differ" : "B less A"}</th></tr></thead>
				<tbody>
					{list.map((d) => (
						<tr key={d.row}>
							<th scope="row"><button type="button" class="quiet name text" onClick={() => open(d.row)}>{d.custom_id || `row ${d.row}`}</button></th>
							<td class="num text">{d.a}</td><td class="num text">{d.b}</td><td class="num">{labels ? percent(d.differ) : signed(d.differ)}</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
