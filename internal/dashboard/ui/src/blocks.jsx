import { useState } from "preact/hooks";
import { bytes } from "./format.js";
import { Marked } from "./row_list.jsx";

// MOST is how many characters of a text are drawn at first: a browser lays out
// a megabyte in one long task.
const MOST = 12000;
const STEP = 60000;

// LongText is text as it stands, its beginning first where it is long.
export function LongText({ text, q, mono, most = MOST }) {
	const [shown, setShown] = useState(most);
	const part = text.length > shown ? cut(text, shown) : text;
	return (
		<div class={`body text ${mono ? "mono" : ""}`} dir="auto">
			{q ? <Marked text={part} q={q} /> : part}
			{part.length < text.length && (
				<button type="button" class="small more" onClick={() => setShown(shown + STEP)}>… {bytes(text.length - part.length)} more</button>
			)}
		</div>
	);
}

// cut does not part the two halves of a letter.
function cut(text, at) {
	const c = text.charCodeAt(at - 1);
	return text.slice(0, c >= 0xd800 && c <= 0xdbff ? at - 1 : at);
}

// Blocks is the content of a message: a string, or a list of blocks.
export function Blocks({ content, q }) {
	if (typeof content === "string") return <LongText text={content} q={q} />;
	if (!Array.isArray(content)) return <Json value={content} />;
	if (content.length === 0) return <p class="faint">It is empty.</p>;
	return content.map((b, i) => <Block key={i} b={b} q={q} />);
}

function Block({ b, q }) {
	if (typeof b === "string") return <LongText text={b} q={q} />;
	switch (b?.type) {
		case "text":
			return <LongText text={String(b.text ?? "")} q={q} />;
		case "thinking":
			return <Folded name="thinking"><LongText text={String(b.thinking ?? "")} q={q} /></Folded>;
		case "image":
			return <Picture source={b.source} />;
		case "tool_use":
		case "server_tool_use":
			return <Named name={`uses ${b.name ?? "a tool"}`}><Json value={b.input} /></Named>;
		case "tool_result":
			return <Named name={b.is_error ? "tool failed" : "tool answers"}><Blocks content={b.content ?? ""} q={q} /></Named>;
		case "document":
			return <Named name={`document${b.title ? `: ${b.title}` : ""}`}><Document source={b.source} q={q} /></Named>;
		default:
			return <Named name={String(b?.type ?? "block")}><Json value={b} /></Named>;
	}
}

function Named({ name, children }) {
	return <div class="block"><div class="block-name text">{name}</div>{children}</div>;
}

function Folded({ name, children }) {
	return <details class="block"><summary class="block-name">{name}</summary>{children}</details>;
}

const pictures = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

// Picture shows an image that the request carries. One that lies elsewhere is
// named and not fetched: the pages ask nobody but their own server.
function Picture({ source }) {
	if (source?.type === "base64" && pictures.has(source.media_type) && typeof source.data === "string") {
		return <img class="picture" src={`data:${source.media_type};base64,${source.data}`} alt={`${source.media_type}, ${bytes(Math.round(source.data.length * 0.75))}`} />;
	}
	return <Named name="image"><p class="mono text">{source?.url ?? source?.file_id ?? source?.type ?? "unknown"}</p></Named>;
}

function Document({ source, q }) {
	if (source?.type === "text") return <LongText text={String(source.data ?? "")} q={q} />;
	if (source?.type === "content") return <Blocks content={source.content} q={q} />;
	if (source?.type === "base64") return <p class="faint">{source.media_type}, {bytes(Math.round((source.data?.length ?? 0) * 0.75))}</p>;
	return <Json value={source} />;
}

function Json({ value }) {
	return <LongText mono text={JSON.stringify(value, null, 2) ?? ""} />;
}
