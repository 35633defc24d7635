'use strict';

const { money } = require('../money');

const escape = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

function renderHtml(result) {
  const rows = result.lines
    .map((line) => `  <tr><td>${line.quantity}</td><td>${escape(line.text)}</td><td class="sum">${money(line.net)}</td></tr>`)
    .join('\n');
  return `<table class="invoice" id="invoice-${escape(result.number)}">
  <caption>${escape(result.customer)}</caption>
${rows}
  <tfoot><tr><td colspan="2">Total</td><td class="sum">${money(result.total, 'EUR')}</td></tr></tfoot>
</table>
`;
}

module.exports = { renderHtml };
