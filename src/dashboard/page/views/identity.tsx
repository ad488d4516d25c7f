/** Who signs in this mesh, whom it believes, and which proxies have followed. */
import type { CertificateFacts, CertificateHolder, Identities, IssuedCertificate } from "../../../read-api/index.ts";
import { useAsk } from "../ask.ts";
import { ProxyLink } from "../parts/link.tsx";
import { type Column, Rows } from "../parts/table.tsx";
import { Time, Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";

const certificateColumns: readonly Column<CertificateFacts>[] = [
  { title: "Name", show: ({ name }) => name },
  { title: "Subject", show: ({ subject }) => <bdi>{subject}</bdi> },
  { title: "Ends", show: ({ until }) => <Time at={until} /> },
  { title: "Serial", show: ({ serial }) => <bdi>{serial}</bdi> },
];

const holderColumns: readonly Column<CertificateHolder>[] = [
  { title: "Proxy", show: ({ proxy }) => <ProxyLink id={proxy} /> },
  { title: "Signed by", show: ({ signedBy }) => signedBy },
  { title: "Believes all roots", show: ({ believesAll }) => (believesAll ? "yes" : "not yet") },
  { title: "Told of roots", show: ({ told }) => told },
  { title: "Ends", show: ({ until }) => (until === undefined ? "" : <Time at={until} />) },
];

const issuedColumns: readonly Column<IssuedCertificate>[] = [
  { title: "For", show: ({ identity }) => <bdi>{identity}</bdi> },
  { title: "Pod", show: ({ pod, namespace }) => (pod === "" ? "" : <ProxyLink id={`${pod}.${namespace}`} />) },
  { title: "Asked from", show: ({ address }) => <bdi>{address}</bdi> },
  { title: "Serial", show: ({ serial }) => <bdi>{serial}</bdi> },
  { title: "Ends", show: ({ until }) => <Time at={until} /> },
];

const maxShown = 200;

function Rotation({ rotation }: { readonly rotation: NonNullable<Identities["rotation"]> }) {
  return (
    <>
      A root rotation{rotation.rollback ? " back" : ""} is under way: {rotation.phase} since{" "}
      <Time at={rotation.since} />, begun <Time at={rotation.startedAt} />.
      {rotation.ignored.length === 0 ? "" : ` Not waited for: ${rotation.ignored.join(", ")}.`}
    </>
  );
}

export function Identity() {
  const { value, error } = useAsk<Identities>("identities").value;
  return (
    <>
      <Title>Identity</Title>
      <Trouble error={error} />
      {value ? (
        <>
          <p>
            The CA is {value.source}.{" "}
            {value.rotation ? <Rotation rotation={value.rotation} /> : "No root rotation is under way."}
          </p>
          <Trouble error={value.refused} />
          {value.signer ? (
            <>
              <h2>Who signs</h2>
              <Rows
                caption="signer"
                columns={certificateColumns}
                rows={[value.signer]}
                rowKey={({ serial }) => serial}
              />
            </>
          ) : null}
          <h2>Who is believed</h2>
          <Rows
            caption="roots"
            columns={certificateColumns}
            rows={value.roots}
            rowKey={({ fingerprint }) => fingerprint}
          />
          <h2>Which proxies have followed</h2>
          <Rows
            caption="holders"
            columns={holderColumns}
            rows={value.proxies.slice(0, maxShown)}
            rowKey={({ proxy }) => proxy}
          />
          {value.proxies.length > maxShown ? <p>{value.proxies.length - maxShown} more are not shown.</p> : null}
          <h2>Certificates that were issued</h2>
          {value.issued.length === 0 ? (
            <p>None by this control plane since it began.</p>
          ) : (
            <Rows
              caption="issued"
              columns={issuedColumns}
              rows={value.issued.slice(0, maxShown)}
              rowKey={({ serial }) => serial}
            />
          )}
          {value.issued.length > maxShown ? <p>{value.issued.length - maxShown} older ones are not shown.</p> : null}
        </>
      ) : null}
    </>
  );
}
