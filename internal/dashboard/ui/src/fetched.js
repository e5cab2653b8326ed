import { useEffect, useState } from "preact/hooks";
import { get } from "./api.js";

// useFetched is {data, error, loading} of a path, asked for anew every `every`
// seconds (0: once). What was there stays until something newer is. A reviver is
// one for JSON.parse, the same each time.
export function useFetched(path, every = 0, reviver) {
	const [got, set] = useState({ path: "", data: null, error: "", loading: true });
	useEffect(() => {
		const stop = new AbortController();
		let timer = 0;
		const ask = async () => {
			try {
				const data = await get(path, stop.signal, reviver);
				set({ path, data, error: "", loading: false });
			} catch (err) {
				if (stop.signal.aborted) return;
				set((was) => ({ path, data: was.path === path ? was.data : null, error: err.message, loading: false }));
			}
			if (every > 0 && !stop.signal.aborted) timer = setTimeout(whenSeen, every * 1000);
		};
		// A page that nobody looks at asks nothing.
		const whenSeen = () => {
			if (!document.hidden) ask();
			else timer = setTimeout(whenSeen, 1000);
		};
		if (path) ask();
		return () => {
			stop.abort();
			clearTimeout(timer);
		};
	}, [path, every]);
	return got.path === path ? got : { data: null, error: "", loading: true };
}
