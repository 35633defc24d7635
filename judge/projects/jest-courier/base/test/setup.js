'use strict';

expect.extend({
  toHaveAskedFor(send, ...urls) {
    const asked = send.mock.calls.map(([request]) => request.url);
    return {
      pass: this.equals(asked, urls),
      message: () => `asked for ${this.utils.printReceived(asked)}, expected ${this.utils.printExpected(urls)}`,
    };
  },
});
