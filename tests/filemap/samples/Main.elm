module Main exposing (main, view)

import Browser
import Html exposing (Html, text)


type alias Model =
    { count : Int }


{-| What can happen. -}
type Msg
    = Increment
    | Set Int


port save : Int -> Cmd msg


update : Msg -> Model -> Model
update msg model =
    case msg of
        Increment ->
            { model | count = model.count + 1 }

        Set n ->
            { model | count = n }


view model =
    text (String.fromInt model.count)


main =
    view { count = 0 }
