/** The reviews service of the sample application. v1 shows no stars, v2 black ones, v3 red ones (SERVICE_VERSION). */
import { call, json, serve } from "./lib/server.ts";

const version = process.env.SERVICE_VERSION ?? "v1";
const colors = new Map([
  ["v2", "black"],
  ["v3", "red"],
]);
const ratingsUrl = process.env.RATINGS_URL ?? "http://ratings:9080";
const texts = [
  ["Reviewer1", "An extremely entertaining play by Shakespeare. The slapstick humour is refreshing!"],
  [
    "Reviewer2",
    "Absolutely fun and entertaining. The play lacks thematic depth when compared to other plays by Shakespeare.",
  ],
] as const;

serve(async (url, headers) => {
  const match = /^\/reviews\/(\d+)$/.exec(url.pathname);
  if (!match) return json({ error: "use /reviews/ID" }, 404);
  const color = colors.get(version);
  const stars = color === undefined ? undefined : await readStars(match[1] ?? "0", headers);
  return json({
    id: match[1],
    podname: process.env.HOSTNAME ?? "",
    version,
    reviews: texts.map(([reviewer, text]) => ({
      reviewer,
      text,
      ...(stars ? { rating: stars(reviewer, color ?? "") } : {}),
    })),
  });
});

async function readStars(
  id: string,
  headers: Parameters<typeof call>[1],
): Promise<(reviewer: string, color: string) => object> {
  const reply = await call(`${ratingsUrl}/ratings/${id}`, headers);
  if (reply.status !== 200) return () => ({ error: "Ratings service is currently unavailable" });
  const { ratings }: { ratings: Record<string, number> } = JSON.parse(reply.body);
  return (reviewer, color) => ({ stars: ratings[reviewer] ?? 0, color });
}
