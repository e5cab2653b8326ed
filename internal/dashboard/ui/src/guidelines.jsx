import { useMemo } from "preact/hooks";
import { useFetched } from "./fetched.js";
import { now } from "./live.js";
import { moment } from "./format.js";
import { Markdown } from "./markdown.jsx";

export function Guidelines() {
	const { data, error, loading } = useFetched("api/guidelines", 60);
	const text = data?.text ?? "";
	const body = useMemo(() => <Markdown text={text} />, [text]);
	return (
		<article class="page paper guide">
			{error && <p class="fault">The guidelines cannot be read: {error}</p>}
			{!data && !error && (
				<>
					<h1>Guidelines</h1>
					<p class="no-data">{loading ? "no data yet" : "None were written here yet: flotilla measure runs the experiments, flotilla report writes the guidelines."}</p>
				</>
			)}
			{data && <p class="faint small-print">{data.path} · {moment(data.made, now.peek())}</p>}
			{data && body}
		</article>
	);
}
