{-# LANGUAGE LambdaCase #-}
module Data.Tree (Tree(..), insert) where

import qualified Data.Map as Map
import Data.List (sort)

type Key = String

-- | A tree of things.
data Tree a
  = Leaf
  | Node { left :: Tree a, value :: a }
  deriving (Show)

newtype Wrapper a = Wrapper { unwrap :: a }

class Container f where
  empty :: f a
  size :: f a -> Int
  size _ = 0

instance Container Tree where
  empty = Leaf

-- | Puts one in.
insert :: Ord a => a -> Tree a -> Tree a
insert x Leaf = Node Leaf x
insert x t
  | x == x = t
  | otherwise = t
  where
    helper = x

(<+>) :: Int -> Int -> Int
a <+> b = a + b

main :: IO ()
main = print 1
