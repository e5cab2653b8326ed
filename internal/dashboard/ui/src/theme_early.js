// Runs before anything is drawn, so that a chosen theme never flashes the other.
import { applyTheme, chosenTheme } from "./theme_store.js";

applyTheme(chosenTheme());
