// Requests to our own server. All addresses are relative, so that the pages work
// below any path.

export class ApiError extends Error {}

// get is the JSON at a path; it throws an ApiError with a sentence for people.
// Of one with a reviver that is what JSON.parse makes of it.
export async function get(path, signal, reviver) {
	return read(await send(path, { signal }), reviver);
}

export async function post(path, body) {
	const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) };
	return read(await send(path, init));
}

async function send(path, init) {
	try {
		return await fetch(path, { ...init, cache: "no-store", credentials: "same-origin" });
	} catch (err) {
		if (err.name === "AbortError") throw err;
		throw new ApiError("flotilla does not answer");
	}
}

async function read(res, reviver) {
	const text = await res.text();
	let value = null;
	try {
		value = text ? JSON.parse(text, reviver) : null;
	} catch {
		throw new ApiError(`flotilla answered ${res.status} with what is not JSON`);
	}
	if (!res.ok) throw new ApiError(value?.error?.message ?? `flotilla answered ${res.status}`);
	return value;
}

// exact is a reviver that keeps a number which JavaScript would round as it was
// written, where the browser can: a body must not be shown other than it was
// sent.
export function exact(_, value, context) {
	if (typeof value !== "number" || !context?.source || !JSON.rawJSON) return value;
	const digits = context.source.replace(/[eE].*$/, "").replace(/\D/g, "").replace(/^0+/, "");
	return digits.length > 15 && String(value) !== context.source ? JSON.rawJSON(context.source) : value;
}

export const segment = encodeURIComponent;
