/** Who signs in this mesh, whom it believes, and which proxies have followed. */
import type { CertificateFacts, CertificateHolder, Identities } from "../../mesh-reads.ts";
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
];

const maxShown = 200;

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
            {value.rotation
              ? `A root rotation is under way: ${value.rotation.phase}, since ${value.rotation.since}.`
              : "No root rotation is under way."}
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
        </>
      ) : null}
    </>
  );
}
