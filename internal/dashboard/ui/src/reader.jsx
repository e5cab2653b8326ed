import { useEffect, useRef, useState } from "preact/hooks";
import { exact, segment } from "./api.js";
import { useFetched } from "./fetched.js";
import { inField } from "./help.jsx";
import { now } from "./live.js";
import { int, moment, ms, usd } from "./format.js";
import { orgTitle, standing, tone } from "./words.js";
import { Blocks, LongText } from "./blocks.jsx";

// Reader shows one row: what was asked, and what was answered, side by side.
export function Reader({ job, row, close, q, active }) {
	const [every, setEvery] = useState(0);
	const { data: d, error, loading } = useFetched(`api/jobs/${segment(job)}/rows/${segment(row)}`, every, exact);
	useEffect(() => setEvery(active && d?.status === "pending" ? 3 : 0), [active, d?.status]);
	const [raw, setRaw] = useState(false);
	const box = useRef(null);
	useEffect(() => {
		const press = (e) => {
			if (e.key === "r" && !inField(e.target) && !e.ctrlKey && !e.metaKey && !e.altKey) setRaw((was) => !was);
		};
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, []);
	return (
		<article class="reader" ref={box} aria-label={`Row ${row}`}>
			<header>
				<div class="reader-id">
					<h3 class="text">{d?.id ?? `row ${row}`}</h3>
					{d && <span class={`status ${tone(standing(d))}`}>{standing(d)}</span>}
				</div>
				<div class="reader-end">
					<button type="button" class="small" aria-pressed={raw} onClick={() => setRaw(!raw)} title="Raw JSON (r)">Raw</button>
					<button type="button" class="small" onClick={close} title="Close (Esc)">Close</button>
				</div>
			</header>
			{error && <p class="fault" role="alert">The row cannot be read: {error}</p>}
			{loading && !d && <p class="faint">reading…</p>}
			{d && <Served d={d} />}
			{d && (raw ? <Raw d={d} /> : <Talk d={d} q={q} />)}
		</article>
	);
}

export function Served({ d }) {
	const usage = d.message?.usage;
	const facts = [
		["model", d.model],
		["served by", d.org && `${orgTitle(d.org)} ${d.tier ?? ""}`],
		["stop reason", d.stop_reason],
		["tokens", usage && `${int(total(usage))} in, ${int(usage.output_tokens)} out`],
		["cost", d.cost_usd == null ? null : usd(d.cost_usd)],
		["latency", d.latency_ms > 0 ? ms(d.latency_ms) : null],
		["attempts", d.attempts > 0 ? int(d.attempts) : null],
		["at", d.at ? moment(d.at, now.peek()) : null],
	].filter(([, v]) => v);
	return <dl class="served">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

const total = (u) => (u.input_tokens ?? 0) + (u.cache_creation_input_tokens ?? 0) + (u.cache_read_input_tokens ?? 0);

function Talk({ d, q }) {
	return (
		<div class="talk">
			<section aria-label="Prompt" class="prompt">
				<h4>Prompt</h4>
				{d.body ? <Prompt body={d.body} q={q} /> : <p class="faint">{d.body_missing || "The prompt is not kept."}</p>}
			</section>
			<section aria-label="Answer" class="answer">
				<h4>Answer</h4>
				<Answer d={d} q={q} />
			</section>
		</div>
	);
}

export function Prompt({ body, q }) {
	const messages = Array.isArray(body.messages) ? body.messages : [];
	return (
		<>
			{body.system !== undefined && <Turn role="system" content={body.system} q={q} />}
			{messages.map((m, i) => <Turn key={i} role={m?.role} content={m?.content} q={q} />)}
			<Params body={body} />
		</>
	);
}

function Turn({ role, content, q }) {
	return (
		<div class={`turn ${role === "assistant" || role === "system" ? role : "user"}`}>
			<h5>{typeof role === "string" ? role : "?"}</h5>
			<Blocks content={content} q={q} />
		</div>
	);
}

// Params are the fields of a request that are not said in its turns.
function Params({ body }) {
	const rest = Object.entries(body).filter(([name]) => name !== "messages" && name !== "system");
	if (!rest.length) return null;
	return (
		<dl class="params">
			{rest.map(([name, value]) => (
				<div key={name}><dt>{name}</dt><dd class="mono text">{typeof value === "object" && value !== null && !value.rawJSON ? <LongText text={JSON.stringify(value, null, 1)} most={600} /> : String(value?.rawJSON ?? value)}</dd></div>
			))}
		</dl>
	);
}

export function Answer({ d, q }) {
	if (d.message) {
		return (
			<>
				<Turn role="assistant" content={d.message.content} q={q} />
				{d.stop_reason === "max_tokens" && <p class="slow">It was cut here by max_tokens.</p>}
				{d.stop_reason === "refusal" && <p class="slow">The model refused.</p>}
			</>
		);
	}
	if (d.error) {
		const e = d.error.error ?? d.error;
		return (
			<div class="turn error">
				<h5>{e.type ?? "error"}</h5>
				<LongText text={String(e.message ?? JSON.stringify(d.error))} q={q} />
			</div>
		);
	}
	return <p class="faint">{d.status === "pending" ? "Not answered yet." : "There is no answer."}</p>;
}

export function Raw({ d }) {
	const parts = [["Request", d.body], ["Answer", d.message ?? d.error]];
	return (
		<div class="talk raw">
			{parts.map(([name, value]) => (
				<section key={name} aria-label={name}>
					<h4>{name}</h4>
					{value ? <LongText mono text={JSON.stringify(value, null, 2)} /> : <p class="faint">{name === "Request" ? d.body_missing || "The prompt is not kept." : "There is none."}</p>}
				</section>
			))}
		</div>
	);
}
