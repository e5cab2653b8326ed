// Requests to our own server. All addresses are relative, so that the pages work
// below any path.

export class ApiError extends Error {}

// get is the JSON at a path; it throws an ApiError with a sentence for people.
export async function get(path, signal) {
	return read(await send(path, { signal }));
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

async function read(res) {
	const text = await res.text();
	let value = null;
	try {
		value = text ? JSON.parse(text) : null;
	} catch {
		throw new ApiError(`flotilla answered ${res.status} with what is not JSON`);
	}
	if (!res.ok) throw new ApiError(value?.error?.message ?? `flotilla answered ${res.status}`);
	return value;
}

export const segment = encodeURIComponent;
