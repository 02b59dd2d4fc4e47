#!/usr/bin/env node
;(function (root, factory) {
  if (typeof define === "function" && define.amd) define([], factory);
  else root.events = factory();
})(this, function () {
  "use strict";

  var LIMIT = 10;

  function Emitter(name) {
    this.name = name;
    this.reset = function () {
      this.listeners = [];
    };
  }

  /**
   * Registers a listener.
   */
  Emitter.prototype.on = function on(event, fn) {
    return this;
  };

  Emitter.create = Emitter.make = function (name) {
    return new Emitter(name);
  };

  class Queue extends Emitter {
    static of(...items) {
      return new Queue();
    }
    *[Symbol.iterator]() {}
    #drain() {}
  }

  return { Emitter: Emitter, Queue, once: async (event) => event, off() {} };
});

exports.version = "1.0";
module.exports.load = function load(path) {};

describe("events", () => {
  it("calls listeners", () => {});
});
