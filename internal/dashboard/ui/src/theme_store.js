const KEY = "flotilla.theme";

// chosenTheme is "light", "dark", or "" for what the system says. A browser that
// forbids storage has no choice to remember.
export function chosenTheme() {
	try {
		const t = localStorage.getItem(KEY);
		return t === "light" || t === "dark" ? t : "";
	} catch {
		return "";
	}
}

export function keepTheme(theme) {
	try {
		if (theme) localStorage.setItem(KEY, theme);
		else localStorage.removeItem(KEY);
	} catch {
		// It then holds for as long as the page.
	}
}

export function applyTheme(theme) {
	if (theme) document.documentElement.dataset.theme = theme;
	else delete document.documentElement.dataset.theme;
}
