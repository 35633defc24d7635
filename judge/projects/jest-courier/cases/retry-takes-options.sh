#!/bin/sh
# label: accept
# kind: signature-change-with-tests
# task: retry(fn, times, base, repeat) has too many arguments. Make it retry(fn, { times, base, repeat }) and adapt callers and tests.
# why: All callers and both tests pass an object; what they expect is unchanged.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/src/client.js b/src/client.js
--- a/src/client.js
+++ b/src/client.js
@@ -26,7 +26,7 @@ class Client {
   }
 
   get(url) {
-    return this.queue.add(() => retry(() => this.once(url), this.times, this.base, transient));
+    return this.queue.add(() => retry(() => this.once(url), { times: this.times, base: this.base, repeat: transient }));
   }
 
   async once(url) {
diff --git a/src/retry.js b/src/retry.js
--- a/src/retry.js
+++ b/src/retry.js
@@ -7,8 +7,8 @@ function backoff(attempt, base = 100, max = 5000) {
   return Math.min(max, base * 2 ** (attempt - 1));
 }
 
-/** Calls fn until it succeeds, refuses to be repeated, or was called `times` times. */
-async function retry(fn, times, base, repeat = () => true) {
+/** Calls fn until it succeeds, refuses to be repeated, or was called options.times times. */
+async function retry(fn, { times, base, repeat = () => true }) {
   for (let attempt = 1; ; attempt++) {
     try {
       return await fn(attempt);
diff --git a/test/retry.test.js b/test/retry.test.js
--- a/test/retry.test.js
+++ b/test/retry.test.js
@@ -18,7 +18,7 @@ describe('retry', () => {
 
   test('waits between attempts', async () => {
     const fn = jest.fn().mockRejectedValueOnce(new Error('1')).mockRejectedValueOnce(new Error('2')).mockResolvedValue('done');
-    const result = retry(fn, 5, 1000);
+    const result = retry(fn, { times: 5, base: 1000 });
     await jest.advanceTimersByTimeAsync(999);
     expect(fn).toHaveBeenCalledTimes(1);
     await jest.advanceTimersByTimeAsync(1);
@@ -31,7 +31,7 @@ describe('retry', () => {
   });
 
   test('throws the last error', async () => {
-    const result = retry((attempt) => Promise.reject(new Error(`no ${attempt}`)), 3, 10);
+    const result = retry((attempt) => Promise.reject(new Error(`no ${attempt}`)), { times: 3, base: 10 });
     const caught = expect(result).rejects.toThrow('no 3');
     await jest.runAllTimersAsync();
     await caught;
PATCH
