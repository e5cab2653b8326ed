import { signal } from "@preact/signals";
import { applyTheme, chosenTheme, keepTheme } from "./theme_store.js";

const system = matchMedia("(prefers-color-scheme: dark)");

// theme is the choice: "light", "dark" or "" (as the system).
export const theme = signal(chosenTheme());

// dark is what is shown. Charts are drawn anew when it changes.
export const dark = signal(isDark());

function isDark() {
	return theme.value ? theme.value === "dark" : system.matches;
}

system.addEventListener("change", () => (dark.value = isDark()));

// nextTheme goes round: system, the other one, the system's own, system.
export function nextTheme() {
	const other = system.matches ? "light" : "dark";
	const own = system.matches ? "dark" : "light";
	const next = theme.value === "" ? other : theme.value === other ? own : "";
	theme.value = next;
	keepTheme(next);
	applyTheme(next);
	dark.value = isDark();
}
