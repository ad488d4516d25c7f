/** Connected proxies and certificates that were issued in; who believes the roots of now, and whose certificate is of the signer of now, out. */
import { type CertificateAuthority, type Holder, type Issuances, rootsId } from "../../ca/index.ts";
import { parseNodeId, type TypeFollower } from "../../xds/index.ts";

export interface TrustHolder {
  /** `pod.namespace`: proven, where that can be. */
  readonly proxy: string;
  /** Undefined for one that has proven nothing, and so has no certificate of ours. */
  readonly holder: Holder | undefined;
  /** Whether it is told of roots over its stream; others learn of them with their next certificate. */
  readonly isTold: boolean;
  readonly believesAll: boolean;
  readonly isReissued: boolean;
  /** Fingerprint of who signed its certificate, where that is known. */
  readonly signer: string | undefined;
  /** Its certificate, where this control plane has issued it. */
  readonly certificate: { readonly serial: string; readonly until: Date } | undefined;
}

export interface TrustHoldersOptions {
  readonly authority: Pick<CertificateAuthority, "bundle">;
  readonly issuances: Issuances;
  /** With how far each is with the roots that it is told. */
  proxies(): Iterable<TypeFollower>;
  /** When the roots that streams are told last changed. */
  changedAt(): Date;
}

/** Proxies that are looked at in a step. */
const atOnce = 200;

/** Pauses where others may be let in. What would hold for no single moment, since trust has changed meanwhile, is looked at anew. */
export function* trustHolderSteps(options: TrustHoldersOptions): Generator<undefined, readonly TrustHolder[]> {
  for (;;) {
    const moment = momentOf(options);
    const holders: TrustHolder[] = [];
    let looked = 0;
    for (const proxy of options.proxies()) {
      const holder = trustHolder(proxy, options.issuances, moment);
      if (holder) holders.push(holder);
      if (++looked % atOnce === 0) yield;
    }
    if (isSame(moment, momentOf(options))) return holders;
    yield;
  }
}

/** What holders are compared with. */
interface Moment {
  readonly signer: string;
  readonly believed: string;
  readonly changedAt: Date;
}

function momentOf({ authority, changedAt }: TrustHoldersOptions): Moment {
  const { certificate, roots } = authority.bundle();
  return { signer: certificate.fingerprint256, believed: rootsId(roots), changedAt: changedAt() };
}

const isSame = (a: Moment, b: Moment): boolean =>
  a.signer === b.signer && a.believed === b.believed && a.changedAt.getTime() === b.changedAt.getTime();

function trustHolder(proxy: TypeFollower, issuances: Issuances, moment: Moment): TrustHolder | undefined {
  const id = parseNodeId(proxy.node.id);
  if (!id) return undefined;
  const holder = holderOf(proxy, id.name);
  const [name, namespace] = [holder?.pod ?? id.name, holder?.identity.namespace ?? id.namespace];
  const issued = holder && issuances.of(holder);
  const told = proxy.type;
  return {
    proxy: `${name}.${namespace}`,
    holder,
    isTold: told !== undefined,
    believesAll: told ? hasAccepted(told, moment.changedAt) : issued?.roots === moment.believed,
    isReissued: issued?.signer === moment.signer,
    signer: issued?.signer,
    certificate: issued,
  };
}

/** Those whom a rotation waits for. Who has proven nothing may never say that it has followed, and would hold it up for good. */
export function isWaitedFor({ holder }: TrustHolder): boolean {
  return holder !== undefined;
}

/** Whether somebody has said not to wait for it: by its name, or for all of its account, which none can put off. */
export function isIgnored({ proxy, holder }: TrustHolder, ignored: ReadonlySet<string>): boolean {
  return ignored.has(proxy) || (holder !== undefined && ignored.has(accountOf(holder)));
}

function accountOf({ identity: { namespace, serviceAccount } }: Holder): string {
  return `${namespace}/${serviceAccount}`;
}

/** What the node calls itself counts only where nothing says in which Pod it is: another name would never be seen to follow. */
function holderOf({ identity, pod, peer }: TypeFollower, claimed: string): Holder | undefined {
  return identity && { identity, pod: pod ?? claimed, address: peer.replace(/:\d+$/, "") };
}

function hasAccepted(status: NonNullable<TypeFollower["type"]>, changedAt: Date): boolean {
  const { sentNonce, ackedNonce, sentAt } = status;
  return sentNonce !== "" && sentNonce === ackedNonce && sentAt !== undefined && sentAt >= changedAt;
}
