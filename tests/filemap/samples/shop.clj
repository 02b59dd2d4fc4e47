(ns shop.core
  "The shop."
  (:require [clojure.string :as str]))

(def limit 10)
(defonce state (atom {}))

(defn add
  "Adds an item."
  [cart item]
  (let [f (fn [x] x)]
    (conj cart (f item))))

(defn- total
  ([cart] (total cart 0))
  ([cart start] (reduce + start cart)))

(defmacro with-cart [& body] `(do ~@body))

(defprotocol Priced
  (price [this] "How much.")
  (discount [this percent]))

(defrecord Item [name cents]
  Priced
  (price [_] cents)
  (discount [_ percent] (* cents percent)))

(defmulti show :kind)
(defmethod show :item [x] (str x))

#?(:clj (defn now [] (System/currentTimeMillis)))

(comment (add [] 1))
