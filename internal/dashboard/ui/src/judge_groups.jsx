import { useState } from "preact/hooks";
import { int, percent } from "./format.js";
import { Dot, Spark } from "./judge_plot.jsx";
import { interval, judgeName, lacking, score } from "./judge_words.js";

const SHORT = 25;

// Groups are the verdicts of one judge by the field of --by.
export function Groups({ page, choose }) {
	const judges = page.summary.judges;
	const [of, setOf] = useState(0);
	const [order, setOrder] = useState("name");
	const [all, setAll] = useState(false);
	const at = Math.min(of, judges.length - 1);
	const j = judges[at];
	if (!j?.groups?.length) return null;
	const sorted = inOrder(j, order);
	const shown = all ? sorted : sorted.slice(0, SHORT);
	const pick = (group) => choose({ group, judge: judges.length > 1 ? at : null });
	return (
		<section aria-labelledby="groups">
			<div class="section-head">
				<h2 id="groups">By <span class="text">{page.summary.by}</span></h2>
				<span class="faint">{int(sorted.length)} groups</span>
				{judges.length > 1 && (
					<select value={at} aria-label="Judge of the groups" onChange={(e) => setOf(Number(e.currentTarget.value))}>
						{judges.map((one, i) => <option key={i} value={i}>{judgeName(one)}</option>)}
					</select>
				)}
				<span class="choice" role="group" aria-label="Order of the groups">
					{["name", "lowest", "highest", "least scored"].map((o) => <button key={o} type="button" aria-pressed={order === o} onClick={() => setOrder(o)}>{o}</button>)}
				</span>
			</div>
			<div class="scroll">
				<table class="groups">
					<thead>
						<tr>
							<th scope="col">group</th><th scope="col" class="num">scored</th><th scope="col">not scored</th>
							{j.scale ? <><th scope="col" class="num">mean</th><th scope="col" class="num">95 % interval</th><th scope="col" class="c-dot"><span class="ends"><span>{score(j.scale[0], j.scale)}</span><span>{score(j.scale[1], j.scale)}</span></span></th><th scope="col">rows by score</th></> : j.total.labels?.map((l) => <th key={l.label} scope="col" class="num text">{l.label}</th>)}
						</tr>
					</thead>
					<tbody>{shown.map((g) => <Group key={g.group ?? "(none)"} g={g} j={j} pick={pick} />)}</tbody>
				</table>
			</div>
			{sorted.length > shown.length && <p class="more-jobs"><button type="button" onClick={() => setAll(true)}>Show all {int(sorted.length)} groups</button></p>}
		</section>
	);
}

function Group({ g, j, pick }) {
	const write = (v) => score(v, j.scale);
	return (
		<tr>
			<th scope="row">{g.group ? <button type="button" class="quiet name text" onClick={() => pick(g.group)}>{g.group}</button> : <span class="faint">(none)</span>}</th>
			<td class="num">{int(g.status.scored)}</td>
			<td class="slow nowrap">{lacking(g.status) || <span class="faint">none</span>}</td>
			{j.scale ? (
				<>
					<td class="num"><b>{write(g.mean?.value)}</b></td>
					<td class="num faint">{interval(g.mean, write)}</td>
					<td class="c-dot"><Dot e={g.mean} scale={j.scale} write={write} /></td>
					<td><Spark counts={g.histogram} /></td>
				</>
			) : g.labels?.map((l) => <td key={l.label} class="num" title={l.share ? `${int(l.n)} verdicts, ${interval(l.share, percent)}` : ""}>{l.share ? percent(l.share.value) : "–"} <small>{int(l.n)}</small></td>)}
		</tr>
	);
}

// inOrder sorts groups; those without a mean come last.
function inOrder(j, order) {
	const groups = [...j.groups];
	const first = j.total.labels?.[0]?.label;
	const value = (g) => g.mean?.value ?? g.labels?.find((l) => l.label === first)?.share?.value ?? null;
	const by = (of, sign) => groups.sort((a, b) => (of(a) === null) - (of(b) === null) || sign * (of(a) - of(b)));
	if (order === "lowest") return by(value, 1);
	if (order === "highest") return by(value, -1);
	if (order === "least scored") return by((g) => (g.rows > 0 ? g.scored_rows / g.rows : null), 1);
	return groups;
}
