import { signal } from "@preact/signals";

// route is where the reader is: the parts of the path after "#/", and what
// follows a "?".
export const route = signal(parse(location.hash));

function parse(hash) {
	const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
	const parts = path.split("/").filter(Boolean).map(decoded);
	return { parts, query: new URLSearchParams(query) };
}

function decoded(part) {
	try {
		return decodeURIComponent(part);
	} catch {
		return part; // a hand-made address
	}
}

addEventListener("hashchange", () => {
	const next = parse(location.hash);
	const moved = next.parts.join("/") !== route.value.parts.join("/");
	route.value = next;
	if (moved) scrollTo(0, 0);
});

export const href = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

// setQuery changes what follows the "?"; a value of "" or null takes the name
// out. With step the browser's way back leads to what was before.
export function setQuery(changes, step = false) {
	const query = new URLSearchParams(route.value.query);
	for (const [name, value] of Object.entries(changes)) {
		if (value === "" || value == null) query.delete(name);
		else query.set(name, value);
	}
	const text = query.toString();
	const to = href(...route.value.parts) + (text ? `?${text}` : "");
	if (step) history.pushState(null, "", to);
	else history.replaceState(null, "", to);
	route.value = { ...route.value, query };
}
