import { segment } from "./api.js";

// Markdown draws what our own reports are written in: headings, paragraphs,
// lists, quotes, code, tables, links, images of our figures. It makes elements,
// so that markup in the text is text.
export function Markdown({ text }) {
	const lines = text.replace(/\r\n?/g, "\n").replace(/<!--[\s\S]*?-->/g, "").split("\n");
	return blocks(lines);
}

function blocks(lines) {
	const out = [];
	let i = 0;
	while (i < lines.length) {
		const used = block(lines, i, out);
		i += Math.max(1, used);
	}
	return out;
}

// block draws the block that begins at line i, and says how many lines it has.
function block(lines, i, out) {
	const line = lines[i];
	const key = out.length;
	let m;
	if (!line.trim()) return 1;
	if ((m = /^(#{1,6})\s+(.*)$/.exec(line))) {
		const H = `h${m[1].length}`;
		out.push(<H key={key}>{inline(m[2])}</H>);
		return 1;
	}
	if (line.startsWith("```")) {
		const n = span(lines, i + 1, (l) => !l.startsWith("```"));
		out.push(<pre key={key} class="mono">{lines.slice(i + 1, i + 1 + n).join("\n")}</pre>);
		return n + 2;
	}
	if (line.startsWith(">")) {
		const n = span(lines, i, (l) => l.startsWith(">"));
		out.push(<blockquote key={key}>{blocks(lines.slice(i, i + n).map((l) => l.replace(/^>\s?/, "")))}</blockquote>);
		return n;
	}
	if (line.startsWith("|") && /^\|?[\s:|-]+\|?$/.test(lines[i + 1] ?? "")) {
		const n = span(lines, i, (l) => l.startsWith("|"));
		out.push(<Table key={key} lines={lines.slice(i, i + n)} />);
		return n;
	}
	if (/^([-*]|\d+\.)\s/.test(line)) {
		const n = span(lines, i, (l) => /^([-*]|\d+\.)\s|^\s+\S/.test(l));
		out.push(<List key={key} lines={lines.slice(i, i + n)} />);
		return n;
	}
	if (/^(-{3,}|\*{3,})\s*$/.test(line)) {
		out.push(<hr key={key} />);
		return 1;
	}
	const n = Math.max(1, span(lines, i, (l) => l.trim() && !/^(#{1,6}\s|```|>|\||([-*]|\d+\.)\s)/.test(l)));
	out.push(<p key={key}>{inline(lines.slice(i, i + n).join(" "))}</p>);
	return n;
}

function span(lines, from, holds) {
	let n = 0;
	while (from + n < lines.length && holds(lines[from + n])) n++;
	return n;
}

function List({ lines }) {
	const items = [];
	for (const line of lines) {
		const m = /^([-*]|\d+\.)\s+(.*)$/.exec(line);
		if (m) items.push(m[2]);
		else items[items.length - 1] += ` ${line.trim()}`;
	}
	const L = /^\d/.test(lines[0]) ? "ol" : "ul";
	return <L>{items.map((text, i) => <li key={i}>{inline(text)}</li>)}</L>;
}

// cells splits a line of a table at the bars that are not escaped.
function cells(line) {
	const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
	return inner.split(/(?<!\\)\|/).map((c) => c.trim().replaceAll("\\|", "|"));
}

function Table({ lines }) {
	const [head, rule, ...rows] = lines.map(cells);
	const numeric = (i) => rule[i]?.endsWith(":") || (rows.length > 0 && rows.every((r) => /^[–\-~≥≤<>]?\s*\$?[\d,.]+(\s?(%|k|M))?$|^–?$/.test(r[i] ?? "")));
	const ends = head.map((_, i) => (numeric(i) ? "num" : undefined));
	return (
		<div class="scroll">
			<table>
				<thead><tr>{head.map((c, i) => <th key={i} scope="col" class={ends[i]}>{inline(c)}</th>)}</tr></thead>
				<tbody>{rows.map((r, i) => <tr key={i}>{head.map((_, k) => <td key={k} class={ends[k]}>{inline(r[k] ?? "")}</td>)}</tr>)}</tbody>
			</table>
		</div>
	);
}

// The parts of a line: code, image, link, bold, slanted.
const part = /`([^`]+)`|!\[([^\]]*)\]\(([^)\s]+)\)|\[([^\]]+)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*|(?<![\w*])[*_]([^*_]+)[*_](?!\w)/g;

function inline(text) {
	const out = [];
	let done = 0;
	for (const m of text.matchAll(part)) {
		if (m.index > done) out.push(text.slice(done, m.index));
		out.push(<Part key={m.index} m={m} />);
		done = m.index + m[0].length;
	}
	out.push(text.slice(done));
	return out;
}

function Part({ m }) {
	const [, code, alt, src, label, to, bold, slanted] = m;
	if (code !== undefined) return <code>{code}</code>;
	if (src !== undefined) return <Figure src={src} alt={alt} />;
	if (to !== undefined) return <Anchor to={to} label={label} />;
	return bold !== undefined ? <b>{inline(bold)}</b> : <i>{slanted}</i>;
}

// Figure is an image of ours; any other would be a request to somebody else.
function Figure({ src, alt }) {
	const m = /^(?:\.\/)?figures\/([\w-]+)\.(?:svg|png)$/.exec(src);
	return m ? <img class="plot-paper" src={`api/figures/${segment(m[1])}.svg`} alt={alt} loading="lazy" /> : <span class="faint">{alt || src}</span>;
}

// Anchor leads to pages of the web alone, never to a script or a file.
function Anchor({ to, label }) {
	return /^https?:\/\//.test(to) ? <a href={to} rel="noreferrer noopener" target="_blank">{label}</a> : <span>{label}</span>;
}
