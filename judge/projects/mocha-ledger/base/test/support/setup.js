'use strict';

const chai = require('chai');

chai.config.truncateThreshold = 0;
global.expect = chai.expect;
