'use strict';

const { compute, renderText, renderHtml } = require('../src');
const invoices = require('./data/invoices');

describe.each(Object.keys(invoices))('invoice %s', (name) => {
  const result = compute(invoices[name]);

  test('as text', () => {
    expect(renderText(result)).toMatchSnapshot();
  });

  test('as HTML', () => {
    expect(renderHtml(result)).toMatchSnapshot();
  });
});

test('the width of a text line is 48', () => {
  const lines = renderText(compute(invoices.large)).trimEnd().split('\n').slice(3);
  expect(new Set(lines.map((line) => line.length))).toEqual(new Set([48]));
});

test('prints thousands of lines without delay', async () => {
  const items = Array.from({ length: 3000 }, (_, i) => ({ text: `item ${i}`, quantity: 1, price: i, rate: 19 }));
  await new Promise((resolve) => setTimeout(resolve, 900));
  expect(renderText(compute({ number: 'x', customer: 'y', items })).split('\n')).toHaveLength(3008);
});
