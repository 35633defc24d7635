'use strict';

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escape(text) {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign]);
}

const text = (value) => (value === undefined || value === null ? '' : String(value));

const filters = {
  upper: (value) => text(value).toUpperCase(),
  lower: (value) => text(value).toLowerCase(),
  title: (value) => text(value).replace(/(^|\s)\S/g, (sign) => sign.toUpperCase()),
  count: (value) => (Array.isArray(value) ? value.length : text(value).length),
};

module.exports = { filters, escape };
