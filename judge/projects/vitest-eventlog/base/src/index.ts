export { ConflictError, EventStore, type Expected, type NewEvent, type Recorded } from './store.js';
export { Projection, type Handlers } from './projection.js';
export { Upcaster } from './upcast.js';
export { Batcher } from './batcher.js';
export { renderSummary, renderTimeline } from './render.js';
