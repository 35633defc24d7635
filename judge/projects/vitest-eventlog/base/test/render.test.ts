import { expect, it } from 'vitest';
import { renderSummary, renderTimeline } from '../src/render.js';
import { bank } from './support/bank.js';

it('renders a timeline', () => {
  expect(renderTimeline(bank().readAll())).toMatchSnapshot();
});

it('renders the timeline of one stream', () => {
  expect(renderTimeline(bank().read('account-1'))).toMatchSnapshot();
});

it('renders a summary', () => {
  expect(renderSummary(bank().readAll())).toMatchSnapshot();
});

it('renders headings when there is nothing', () => {
  expect(renderTimeline([])).toBe('#  stream  type  data\n');
});
