/** The ratings service of the sample application: stars by reviewer. */
import { json, serve } from "./lib/server.ts";

serve((url) => {
  const match = /^\/ratings\/(\d+)$/.exec(url.pathname);
  if (!match) return json({ error: "use /ratings/ID" }, 404);
  return json({ id: Number(match[1]), ratings: { Reviewer1: 5, Reviewer2: 4 } });
});
