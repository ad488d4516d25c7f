/** A request's PEM in, all that it asks to be called, and whether it asks for anything else, out: for CAs that go by it. */
import { contextTag, oid, readDer, tags } from "./der.ts";
import { oids } from "./oids.ts";
import { parseSinglePem } from "./pem.ts";

export interface CsrNames {
  /** SPIFFE ids and other URIs. */
  readonly uris: readonly string[];
  /** Names of other kinds, a subject that says something, or extensions beside names. */
  readonly asksForMore: boolean;
}

/** Of a request that `parseCsr` has accepted. */
export function readCsrNames(pem: string): CsrNames {
  const request = readDer(readDer(parseSinglePem(pem, "CERTIFICATE REQUEST", pem.length)).take(tags.sequence).content);
  const info = readDer(request.take(tags.sequence).content);
  info.take(tags.integer);
  const hasSubject = saysSomething(info.take(tags.sequence).content);
  info.take(tags.sequence);
  const attributes = readDer(info.takeIf(contextTag(0, true))?.content ?? new Uint8Array());
  const uris: string[] = [];
  let asksForMore = hasSubject;
  while (!attributes.isAtEnd()) {
    const attribute = readDer(attributes.take(tags.sequence).content);
    const isExtensions = oid(oids.extensionRequest).equals(attribute.take(tags.oid).raw);
    const found = isExtensions ? namesIn(attribute.take(tags.set).content) : undefined;
    asksForMore ||= found?.asksForMore ?? true;
    uris.push(...(found?.uris ?? []));
  }
  return { uris, asksForMore };
}

/** Istio's agents write an organization that is empty. */
function saysSomething(subject: Uint8Array): boolean {
  const sets = readDer(subject);
  while (!sets.isAtEnd()) {
    const pair = readDer(readDer(sets.take(tags.set).content).take(tags.sequence).content);
    pair.take(tags.oid);
    if (pair.takeAny().content.length > 0) return true;
  }
  return false;
}

function namesIn(value: Uint8Array): CsrNames {
  const extensions = readDer(readDer(value).take(tags.sequence).content);
  const uris: string[] = [];
  let asksForMore = false;
  while (!extensions.isAtEnd()) {
    const extension = readDer(extensions.take(tags.sequence).content);
    const isNames = oid(oids.subjectAltName).equals(extension.take(tags.oid).raw);
    extension.takeIf(tags.boolean);
    const names = readDer(
      isNames ? readDer(extension.take(tags.octetString).content).take(tags.sequence).content : new Uint8Array(),
    );
    asksForMore ||= !isNames;
    while (!names.isAtEnd()) {
      const uri = names.takeIf(contextTag(6, false));
      if (uri) uris.push(Buffer.from(uri.content).toString("latin1"));
      else {
        names.takeAny();
        asksForMore = true;
      }
    }
  }
  return { uris, asksForMore };
}
