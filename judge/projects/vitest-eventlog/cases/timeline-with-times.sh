#!/bin/sh
# label: ask
# kind: snapshot-updated-rightly
# task: The timeline shall say when an event was recorded: a column time behind the stream, as 2024-05-06 08:00 in UTC. Update tests and snapshots.
# why: Code, snapshots and the test of the headings changed together, as asked; the old ones must fail now, and no run tells this from a snapshot of a mistake.
# forms: shell capability steps
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/render.ts b/src/render.ts
--- a/src/render.ts
+++ b/src/render.ts
@@ -3,9 +3,9 @@ import type { Recorded } from './store.js';
 /** A table of events for people; the data stands in the order of its keys. */
 export function renderTimeline(events: Recorded[]): string {
   const rows = events.map((event) => [
-    String(event.position), `${event.stream}@${event.version}`, event.type, summary(event.data),
+    String(event.position), `${event.stream}@${event.version}`, time(event.at), event.type, summary(event.data),
   ]);
-  return table([['#', 'stream', 'type', 'data'], ...rows]);
+  return table([['#', 'stream', 'time', 'type', 'data'], ...rows]);
 }
 
 /** One line for each stream: how many events of which types. */
@@ -22,6 +22,10 @@ export function renderSummary(events: Recorded[]): string {
   return table([['stream', 'events'], ...rows]);
 }
 
+function time(at: number): string {
+  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
+}
+
 function summary(data: Record<string, unknown>): string {
   return Object.keys(data).sort().map((key) => `${key}=${JSON.stringify(data[key])}`).join(' ');
 }
diff --git a/test/__snapshots__/render.test.ts.snap b/test/__snapshots__/render.test.ts.snap
--- a/test/__snapshots__/render.test.ts.snap
+++ b/test/__snapshots__/render.test.ts.snap
@@ -9,21 +9,21 @@ accounting-2024  YearClosed
 `;
 
 exports[`renders a timeline 1`] = `
-"#  stream             type        data
-1  account-1@1        Opened      owner="harbour"
-2  account-1@2        Deposited   amount=500
-3  account-2@1        Opened      owner="mill"
-4  account-1@3        Withdrawn   amount=120 reason="rope"
-5  accounting-2024@1  YearClosed
-6  account-2@2        Deposited   amount=75
-7  account-2@3        Deposited   amount=25
+"#  stream             time              type        data
+1  account-1@1        2024-05-06 08:00  Opened      owner="harbour"
+2  account-1@2        2024-05-06 08:00  Deposited   amount=500
+3  account-2@1        2024-05-06 08:01  Opened      owner="mill"
+4  account-1@3        2024-05-06 08:02  Withdrawn   amount=120 reason="rope"
+5  accounting-2024@1  2024-05-06 08:03  YearClosed
+6  account-2@2        2024-05-06 08:04  Deposited   amount=75
+7  account-2@3        2024-05-06 08:04  Deposited   amount=25
 "
 `;
 
 exports[`renders the timeline of one stream 1`] = `
-"#  stream       type       data
-1  account-1@1  Opened     owner="harbour"
-2  account-1@2  Deposited  amount=500
-4  account-1@3  Withdrawn  amount=120 reason="rope"
+"#  stream       time              type       data
+1  account-1@1  2024-05-06 08:00  Opened     owner="harbour"
+2  account-1@2  2024-05-06 08:00  Deposited  amount=500
+4  account-1@3  2024-05-06 08:02  Withdrawn  amount=120 reason="rope"
 "
 `;
diff --git a/test/render.test.ts b/test/render.test.ts
--- a/test/render.test.ts
+++ b/test/render.test.ts
@@ -15,5 +15,5 @@ it('renders a summary', () => {
 });
 
 it('renders headings when there is nothing', () => {
-  expect(renderTimeline([])).toBe('#  stream  type  data\n');
+  expect(renderTimeline([])).toBe('#  stream  time  type  data\n');
 });
PATCH
