import { useEffect, useState } from "preact/hooks";
import { exact, segment } from "./api.js";
import { useFetched } from "./fetched.js";
import { inField } from "./help.jsx";
import { LongText } from "./blocks.jsx";
import { Answer, Prompt, Raw, Served } from "./reader.jsx";
import { judgeName, score, tone, valueText } from "./judge_words.js";

// JudgeReader shows one verdict: what was asked, what was said, and what the
// judge made of it, side by side; below, the row's other verdicts.
export function JudgeReader({ job, row, close, q, active, page, go }) {
	const [every, setEvery] = useState(0);
	const { data: d, error, loading } = useFetched(`api/jobs/${segment(job)}/verdicts/${segment(row)}`, every, exact);
	useEffect(() => setEvery(active && d?.status === "pending" ? 3 : 0), [active, d?.status]);
	const [raw, setRaw] = useState(false);
	useEffect(() => {
		const press = (e) => {
			if (e.key === "r" && !inField(e.target) && !e.ctrlKey && !e.metaKey && !e.altKey) setRaw((was) => !was);
		};
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, []);
	return (
		<article class="reader judge-reader" aria-label={`Verdict ${row}`}>
			<header>
				<div class="reader-id">
					<h3 class="text">{d?.id ?? (d ? `row ${d.record}` : `call ${row}`)}</h3>
					{d && <span class={`status ${tone(d.status)}`}>{d.status}</span>}
				</div>
				<div class="reader-end">
					<button type="button" class="small" aria-pressed={raw} onClick={() => setRaw(!raw)} title="Raw JSON (r)">Raw</button>
					<button type="button" class="small" onClick={close} title="Close (Esc)">Close</button>
				</div>
			</header>
			{error && <p class="fault" role="alert">The verdict cannot be read: {error}</p>}
			{loading && !d && <p class="faint">reading…</p>}
			{d && <Served d={d} />}
			{d && (raw ? <Raw d={d} /> : <Sides d={d} q={q} page={page} />)}
			{d && <Others d={d} page={page} go={go} />}
		</article>
	);
}

// Sides are the three columns. Where the row cannot be read, the judge's request
// stands in place of the first two.
function Sides({ d, q, page }) {
	const of = (role) => d.fields.filter((f) => f.role === role);
	const [shown, judged, rest] = [of("shown"), of("judged"), of("")];
	const known = d.fields.length > 0;
	const beside = shown.length > 0 ? shown : rest; // a judge that sees the completion alone
	return (
		<>
			<div class={`sides ${known && judged.length > 0 ? "" : "two"}`}>
				<section aria-label="Prompt" class="prompt">
					<h4>Prompt</h4>
					{known ? <Fields list={beside} q={q} /> : d.body ? <Prompt body={d.body} q={q} /> : <p class="faint">{d.body_missing || "The row is not kept."}</p>}
				</section>
				{known && judged.length > 0 && <section aria-label="Completion" class="completion"><h4>Completion</h4><Fields list={judged} q={q} alone={judged.length === 1} /></section>}
				<section aria-label="Verdict" class="answer">
					<h4>Verdict</h4>
					<Said d={d} scale={page.judges[d.judge]?.scale} />
					{d.status !== "pending" && <Answer d={d} q={q} />}
				</section>
			</div>
			{known && d.body && <details class="asked"><summary>What the judge was asked</summary><Prompt body={d.body} q={q} /></details>}
			{known && beside !== rest && rest.length > 0 && <details class="asked"><summary>Other fields of the row</summary><Fields list={rest} q={q} /></details>}
		</>
	);
}

function Fields({ list, q, alone }) {
	if (!list.length) return <p class="faint">There is nothing else.</p>;
	return list.map((f) => (
		<div key={f.name} class="turn">
			{!alone && <h5 class="text">{f.name}</h5>}
			{valueText(f.value) === "" ? <p class="faint">It is empty.</p> : <LongText text={valueText(f.value)} q={q} mono={typeof f.value === "object"} />}
		</div>
	));
}

function Said({ d, scale }) {
	if (d.status === "pending") return <p class="faint">Not judged yet.</p>;
	return (
		<>
			<p class="said"><b>{d.label ?? (d.score === null ? "no score" : score(d.score, scale))}</b>{d.score !== null && scale && <span class="faint"> of {score(scale[0], scale)} to {score(scale[1], scale)}</span>}</p>
			{d.why && <p class="slow text">{d.why}</p>}
			{d.truth !== null && <p class="faint text">the row's own label: <b>{d.truth}</b></p>}
		</>
	);
}

// Others are all verdicts on the row, by judge and repeat.
function Others({ d, page, go }) {
	if (!(d.others?.length > 1)) return null;
	return (
		<div class="scroll others-of">
			<table>
				<caption>All verdicts on this row</caption>
				<thead><tr><th scope="col">judge</th><th scope="col" class="num">repeat</th><th scope="col" class="num">score</th><th scope="col">status</th><th scope="col">why</th></tr></thead>
				<tbody>
					{d.others.map((o) => (
						<tr key={o.row} class={o.row === d.row ? "this" : ""}>
							<th scope="row"><button type="button" class="quiet name text" disabled={o.row === d.row} onClick={() => go(o.row)}>{judgeName(page.judges[o.judge] ?? {})}{o.swapped ? ", swapped" : ""}</button></th>
							<td class="num">{o.repeat > 0 ? o.repeat : "–"}</td>
							<td class="num"><b>{o.label ?? score(o.score, page.judges[o.judge]?.scale)}</b></td>
							<td class={tone(o.status)}>{o.status}</td>
							<td class="faint text">{o.why ?? ""}</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
