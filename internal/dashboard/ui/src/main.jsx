import { render } from "preact";
import "uplot/style.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/overview.css";
import "./style/job.css";
import "./style/judge.css";
import "./style/papers.css";
import { start } from "./live.js";
import { Shell } from "./shell.jsx";

const app = document.getElementById("app");
app.replaceChildren();
render(<Shell />, app);
start();
