/** Every command, in the order in which help lists them. */
import type { CommandEntry } from "./command.ts";

export const commands: readonly CommandEntry[] = [
  {
    name: "up",
    summary: "Start a standalone mesh: API, control plane and certificates, without a cluster",
    load: () => import("./up.ts"),
  },
  { name: "down", summary: "Remove what a killed `up` or `run` left behind", load: () => import("./down.ts") },
  {
    name: "backup",
    summary: "Save all that a standalone mesh holds to one file, also while it runs",
    load: () => import("./backup.ts"),
  },
  {
    name: "restore",
    summary: "Bring back what `backup` saved",
    load: () => import("./restore.ts"),
  },
  { name: "run", summary: "Join a process to the standalone mesh as a Pod", load: () => import("./run.ts") },
  { name: "apply", summary: "Create or change objects from files", load: () => import("./apply.ts") },
  { name: "get", summary: "Show objects of the API", load: () => import("./get.ts") },
  { name: "logs", summary: "Show what a Pod's containers have written", load: () => import("./logs.ts") },
  { name: "edit", summary: "Change an object of the API in an editor", load: () => import("./edit.ts") },
  { name: "delete", summary: "Remove objects by name or from files", load: () => import("./delete.ts") },
  {
    name: "render",
    summary: "Show what a proxy would be sent, offline, from files",
    load: () => import("./render.ts"),
  },
  { name: "dashboard", summary: "Open the mesh on a page", load: () => import("./dashboard.ts") },
  {
    name: "why",
    summary: "Say what becomes of a request, and which object and field decides it",
    load: () => import("./why.ts"),
  },
  {
    name: "describe",
    summary: "Show the routes, encryption and policies that hold for a Pod or a service",
    load: () => import("./describe.ts"),
  },
  {
    name: "diff",
    summary: "Say what a change of objects would change in the proxies, before it is applied",
    load: () => import("./diff.ts"),
  },
  {
    name: "rehearse",
    summary: "Compare what a cluster's istiod sends its proxies with what Fairlead would send them",
    load: () => import("./rehearse.ts"),
  },
  {
    name: "wait",
    summary: "Wait until every proxy that an object reaches has acknowledged it",
    load: () => import("./wait.ts"),
  },
  {
    name: "test",
    summary: "Check expectations about requests that are kept beside the YAML",
    load: () => import("./test.ts"),
  },
  { name: "discovery", summary: "Run the control plane on a Kubernetes API", load: () => import("./discovery.ts") },
  { name: "api", summary: "Serve the API of a standalone mesh", load: () => import("./api.ts") },
  { name: "edge", summary: "Serve DNS and the ways into a standalone mesh", load: () => import("./edge.ts") },
  { name: "agent", summary: "Run the node agent beside a workload", load: () => import("./agent.ts") },
  {
    name: "iptables",
    summary: "Set up the rules that capture a workload's traffic",
    load: () => import("./iptables.ts"),
  },
  {
    name: "ca",
    summary: "Show the certificate authority, and rotate its root without an outage",
    load: () => import("./ca.ts"),
  },
  {
    name: "workload",
    summary: "Prepare machines outside Kubernetes for joining the mesh",
    load: () => import("./workload.ts"),
  },
  {
    name: "stat",
    summary: "Show success, request rate and latency of workloads, services or namespaces",
    load: () => import("./stat.ts"),
  },
  {
    name: "top",
    summary: "Watch which requests are made, by path and caller, as a table",
    load: () => import("./top.ts"),
  },
  {
    name: "tap",
    summary: "Watch single requests as they are made",
    load: () => import("./tap.ts"),
  },
  {
    name: "proxy-status",
    aliases: ["ps"],
    summary: "Show which proxies are connected and in step",
    load: () => import("./proxy-status.ts"),
  },
  {
    name: "proxy-config",
    aliases: ["pc"],
    summary: "Show the configuration that an Envoy has",
    load: () => import("./proxy-config.ts"),
  },
  {
    name: "admin",
    summary: "Show and set the levels of the control plane's log",
    load: () => import("./admin.ts"),
  },
  {
    name: "ztunnel-config",
    aliases: ["zc"],
    summary: "Show the configuration in a ztunnel's dump",
    load: () => import("./ztunnel-config.ts"),
  },
  {
    name: "analyze",
    summary: "Look for mistakes in Istio objects of files and of a cluster",
    load: () => import("./analyze.ts"),
  },
  {
    name: "validate",
    aliases: ["v"],
    summary: "Check Istio objects in files, without a cluster",
    load: () => import("./validate.ts"),
  },
  {
    name: "install",
    summary: "Install the control plane on a Kubernetes cluster",
    load: () => import("./install.ts"),
  },
  {
    name: "upgrade",
    summary: "Bring an installation to this version, with the values that it has",
    load: () => import("./upgrade.ts"),
  },
  {
    name: "uninstall",
    summary: "Remove the control plane from a Kubernetes cluster",
    load: () => import("./uninstall.ts"),
  },
  {
    name: "tag",
    summary: "Give a revision another name that namespaces select it by",
    load: () => import("./tag.ts"),
  },
  {
    name: "manifest",
    summary: "Print what an installation consists of",
    load: () => import("./manifest.ts"),
  },
  {
    name: "kube-inject",
    summary: "Add the sidecar to workloads in files, without a cluster",
    load: () => import("./kube-inject.ts"),
  },
  {
    name: "check",
    summary: "Ask whether the standalone mesh is well, or this machine has what one needs",
    load: () => import("./check.ts"),
  },
  {
    name: "bug-report",
    summary: "Put what a person needs to find a fault into one archive, without secrets",
    load: () => import("./bug-report.ts"),
  },
  {
    name: "completion",
    summary: "Print what a shell needs to complete commands, flags and names of objects",
    load: () => import("./completion.ts"),
  },
  { name: "version", summary: "Show the version", load: () => import("./version.ts") },
];
