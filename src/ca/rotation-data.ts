/** A rotation in, the content of the Secret that keeps it out, and back. The private keys go when it is done. */
import { FairleadError, isRecord, parseJson, readText } from "../lib/index.ts";
import { formatBundle, parseCertificates } from "../pki/index.ts";
import type { FormerCa, Rotation, RotationPhase } from "./rotation.ts";
import { type CaFiles, formatSigningBundle, parseSigningBundle, type SigningBundle } from "./signing-bundle.ts";

const phases: ReadonlySet<string> = new Set<RotationPhase>(["trust", "reissue", "settle", "done"]);
const fileNames = ["ca-cert.pem", "ca-key.pem", "cert-chain.pem", "root-cert.pem"] as const;
type Side = "from" | "to";

/** What remains to be told of a rotation that is over. */
export type RotationFacts = Omit<Rotation, "from" | "to">;

export function formatRotation(rotation: Rotation): Readonly<Record<string, string>> {
  const { from, to, ...facts } = rotation;
  const state = JSON.stringify(facts);
  if (rotation.phase === "done") return { state };
  const former = from.signer ? formatSigningBundle(from.signer) : { "root-cert.pem": formatBundle(from.roots) };
  return { state, ...prefixed("from", former), ...prefixed("to", formatSigningBundle(to)) };
}

/** Throws `invalid` where the content is not what `formatRotation` made. */
export function parseRotation(data: Readonly<Record<string, string>>, now: Date): Rotation | RotationFacts {
  const facts = parseRotationFacts(data["state"] ?? "");
  if (facts.phase === "done") return facts;
  return { ...facts, from: parseFormer(filesOf(data, "from"), now), to: parseSigningBundle(filesOf(data, "to"), now) };
}

export function isUnderWay(rotation: Rotation | RotationFacts | undefined): rotation is Rotation {
  return rotation !== undefined && "to" in rotation;
}

export function parseRotationFacts(text: string): RotationFacts {
  const state = text === "" ? undefined : parseJson(text);
  const at = (value: unknown): Date => new Date(readText(value));
  if (!isRecord(state) || !phases.has(readText(state["phase"]))) throw unreadable("state");
  const [startedAt, since] = [at(state["startedAt"]), at(state["since"])];
  if (Number.isNaN(startedAt.getTime()) || Number.isNaN(since.getTime())) throw unreadable("state");
  const ignored = Array.isArray(state["ignored"]) ? state["ignored"].filter((name) => typeof name === "string") : [];
  return {
    id: readText(state["id"]),
    phase: phaseOf(readText(state["phase"])),
    startedAt,
    since,
    epoch: Number.isSafeInteger(state["epoch"]) ? Number(state["epoch"]) : 0,
    origin: state["origin"] === "command" ? "command" : "files",
    isRollback: state["isRollback"] === true,
    ignored,
  };
}

function phaseOf(text: string): RotationPhase {
  return text === "trust" || text === "reissue" || text === "settle" ? text : "done";
}

/** A former CA may have expired, or have left its roots alone: then it signs no more. */
function parseFormer(files: CaFiles, now: Date): FormerCa {
  const roots = parseCertificates(files["root-cert.pem"] ?? "");
  if (roots.length === 0) throw unreadable("from-root-cert.pem");
  let signer: SigningBundle | undefined;
  try {
    signer = files["ca-key.pem"] === "" ? undefined : parseSigningBundle(files, now);
  } catch (error) {
    if (FairleadError.from(error).code !== "invalid") throw error;
  }
  return { roots, signer };
}

function filesOf(data: Readonly<Record<string, string>>, side: Side): CaFiles {
  const file = (name: (typeof fileNames)[number]): string => data[`${side}-${name}`] ?? "";
  return {
    "ca-cert.pem": file("ca-cert.pem"),
    "ca-key.pem": file("ca-key.pem"),
    "cert-chain.pem": file("cert-chain.pem"),
    "root-cert.pem": file("root-cert.pem"),
  };
}

function prefixed(side: Side, files: Partial<CaFiles>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [`${side}-${name}`, text]));
}

function unreadable(key: string): FairleadError {
  return new FairleadError("invalid", `the state of the root rotation cannot be read: ${key}`, {
    hint: "restore the Secret, or delete it: the CA of cacerts or istio-ca-secret then holds at once",
  });
}
